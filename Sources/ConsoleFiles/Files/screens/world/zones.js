// Where the time zones' cities are: zone.tab of tzdata, public domain, in whole degrees. `zonePlaces` has them in the
// plane of coast.js.

const cities = {
  Africa:
    'Abidjan 176 79,Accra 180 78,Addis_Ababa 219 75,Algiers 183 47,Asmara 219 69,Bamako 172 71,Bangui 199 80,Banjul' +
    ' 163 71,Bissau 164 72,Blantyre 215 100,Brazzaville 195 88,Bujumbura 209 87,Cairo 211 54,Casablanca 172 50,Ceut' +
    'a 175 48,Conakry 166 74,Dakar 163 69,Dar_es_Salaam 219 91,Djibouti 223 72,Douala 190 80,El_Aaiun 167 57,Freeto' +
    'wn 167 76,Gaborone 206 109,Harare 211 102,Johannesburg 208 110,Juba 212 79,Kampala 212 84,Khartoum 213 68,Kiga' +
    'li 210 86,Kinshasa 195 88,Lagos 183 78,Libreville 189 84,Lome 181 78,Luanda 193 93,Lubumbashi 207 96,Lusaka 20' +
    '8 99,Malabo 189 80,Maputo 213 110,Maseru 208 113,Mbabane 211 110,Mogadishu 225 82,Monrovia 169 78,Nairobi 217 ' +
    '85,Ndjamena 195 72,Niamey 182 70,Nouakchott 164 66,Ouagadougou 178 72,Porto-Novo 183 78,Sao_Tome 187 84,Tripol' +
    'i 193 51,Tunis 190 47,Windhoek 197 107',
  America:
    'Adak 3 32,Anchorage 30 23,Anguilla 117 66,Antigua 118 67,Araguaina 132 91,Argentina/Buenos_Aires 122 119,Argen' +
    'tina/Catamarca 114 112,Argentina/Cordoba 116 115,Argentina/Jujuy 115 108,Argentina/La_Rioja 113 113,Argentina/' +
    'Mendoza 111 117,Argentina/Rio_Gallegos 111 136,Argentina/Salta 115 109,Argentina/San_Juan 111 116,Argentina/Sa' +
    'n_Luis 114 117,Argentina/Tucuman 115 111,Argentina/Ushuaia 112 139,Aruba 110 72,Asuncion 122 109,Atikokan 88 3' +
    '5,Bahia 141 97,Bahia_Banderas 75 63,Barbados 120 71,Belem 132 85,Belize 92 66,Blanc-Sablon 123 33,Boa_Vista 11' +
    '9 81,Bogota 106 79,Boise 64 40,Cambridge_Bay 75 15,Campo_Grande 125 104,Cancun 93 63,Caracas 113 74,Cayenne 12' +
    '8 79,Cayman 99 65,Chicago 92 42,Chihuahua 74 55,Ciudad_Juarez 74 52,Costa_Rica 96 74,Coyhaique 108 130,Creston' +
    ' 63 35,Cuiaba 124 100,Curacao 111 72,Danmarkshavn 161 7,Dawson 41 20,Dawson_Creek 60 28,Denver 75 44,Detroit 9' +
    '7 42,Dominica 119 69,Edmonton 67 30,Eirunepe 110 91,El_Salvador 91 70,Fort_Nelson 57 25,Fortaleza 142 88,Glace' +
    '_Bay 120 38,Goose_Bay 120 31,Grand_Turk 109 63,Grenada 118 72,Guadeloupe 118 68,Guatemala 89 69,Guayaquil 100 ' +
    '86,Guyana 122 77,Halifax 116 39,Havana 98 61,Hermosillo 69 55,Indiana/Indianapolis 94 44,Indiana/Knox 93 43,In' +
    'diana/Marengo 94 46,Indiana/Petersburg 93 46,Indiana/Tell_City 93 46,Indiana/Vevay 95 45,Indiana/Vincennes 92 ' +
    '45,Indiana/Winamac 93 43,Inuvik 46 16,Iqaluit 112 20,Jamaica 103 66,Juneau 46 26,Kentucky/Louisville 94 46,Ken' +
    'tucky/Monticello 95 47,Kralendijk 112 72,La_Paz 112 100,Lima 103 96,Los_Angeles 62 50,Lower_Princes 117 66,Mac' +
    'eio 144 94,Managua 94 72,Manaus 120 87,Marigot 117 66,Martinique 119 69,Matamoros 82 58,Mazatlan 74 61,Menomin' +
    'ee 92 39,Merida 90 63,Metlakatla 48 29,Mexico_City 81 65,Miquelon 124 37,Moncton 115 38,Monterrey 80 58,Montev' +
    'ideo 124 119,Montserrat 118 67,Nassau 103 59,New_York 106 43,Nome 15 20,Noronha 148 88,North_Dakota/Beulah 78 ' +
    '37,North_Dakota/Center 79 37,North_Dakota/New_Salem 79 37,Nuuk 128 20,Ojinaga 76 54,Panama 100 75,Paramaribo 1' +
    '25 78,Phoenix 68 51,Port-au-Prince 108 65,Port_of_Spain 118 73,Porto_Velho 116 93,Puerto_Rico 114 66,Punta_Are' +
    'nas 109 137,Rankin_Inlet 88 21,Recife 145 92,Regina 75 34,Resolute 85 9,Rio_Branco 112 94,Santarem 125 86,Sant' +
    'iago 109 117,Santo_Domingo 110 66,Sao_Paulo 133 108,Scoresbysund 158 14,Sitka 45 27,St_Barthelemy 117 66,St_Jo' +
    'hns 127 36,St_Kitts 117 67,St_Lucia 119 70,St_Thomas 115 66,St_Vincent 119 71,Swift_Current 72 34,Tegucigalpa ' +
    '93 70,Thule 111 7,Tijuana 63 51,Toronto 101 40,Tortola 115 66,Vancouver 57 35,Whitehorse 45 23,Winnipeg 83 34,' +
    'Yakutat 40 24',
  Antarctica:
    'Casey 291 144,Davis 258 144,DumontDUrville 320 144,Macquarie 339 138,Mawson 243 144,McMurdo 347 144,Palmer 116' +
    ' 144,Rothera 112 144,Syowa 220 144,Troll 183 144,Vostok 287 144',
  Arctic:
    'Longyearbyen 196 6',
  Asia:
    'Aden 225 71,Almaty 257 41,Amman 216 52,Anadyr 357 19,Aqtau 230 39,Aqtobe 237 34,Ashgabat 238 46,Atyrau 232 37,' +
    'Baghdad 224 51,Bahrain 231 58,Baku 230 44,Bangkok 281 70,Barnaul 264 31,Beirut 216 50,Bishkek 255 41,Brunei 29' +
    '5 79,Chita 293 32,Colombo 260 77,Damascus 216 50,Dhaka 270 60,Dili 306 93,Dubai 235 59,Dushanbe 249 45,Famagus' +
    'ta 214 49,Gaza 214 52,Hebron 215 52,Ho_Chi_Minh 287 73,Hong_Kong 294 62,Hovd 272 36,Irkutsk 284 32,Jakarta 287' +
    ' 90,Jayapura 321 87,Jerusalem 215 52,Kabul 249 49,Kamchatka 339 31,Karachi 247 59,Kathmandu 265 56,Khandyga 31' +
    '6 21,Kolkata 268 61,Krasnoyarsk 273 28,Kuala_Lumpur 282 81,Kuching 290 82,Kuwait 228 55,Macau 294 62,Magadan 3' +
    '31 24,Makassar 299 89,Manila 301 69,Muscat 239 60,Nicosia 213 49,Novokuznetsk 267 30,Novosibirsk 263 29,Omsk 2' +
    '53 29,Oral 231 33,Phnom_Penh 285 72,Pontianak 289 84,Pyongyang 306 45,Qatar 232 59,Qostanay 244 31,Qyzylorda 2' +
    '45 39,Riyadh 227 59,Sakhalin 323 37,Samarkand 247 44,Seoul 307 46,Shanghai 301 53,Singapore 284 83,Srednekolym' +
    'sk 334 17,Taipei 302 59,Tashkent 249 43,Tbilisi 225 42,Tehran 231 48,Thimphu 270 57,Tokyo 320 48,Tomsk 265 28,' +
    'Ulaanbaatar 287 36,Urumqi 268 40,Ust-Nera 323 19,Vientiane 283 66,Vladivostok 312 41,Yakutsk 310 22,Yangon 276' +
    ' 67,Yekaterinburg 241 27,Yerevan 224 44',
  Atlantic:
    'Azores 154 46,Bermuda 115 52,Canary 165 56,Cape_Verde 156 69,Faroe 173 22,Madeira 163 51,Reykjavik 158 20,Sout' +
    'h_Georgia 143 138,St_Helena 174 100,Stanley 122 136',
  Australia:
    'Adelaide 319 119,Brisbane 333 111,Broken_Hill 321 116,Darwin 311 96,Eucla 309 116,Hobart 327 127,Lindeman 329 ' +
    '104,Lord_Howe 339 116,Melbourne 325 122,Perth 296 116,Sydney 331 118',
  Europe:
    'Amsterdam 185 32,Andorra 182 42,Astrakhan 228 38,Athens 204 46,Belgrade 200 39,Berlin 193 32,Bratislava 197 36' +
    ',Brussels 184 33,Bucharest 206 40,Budapest 199 36,Busingen 189 36,Chisinau 209 37,Copenhagen 193 28,Dublin 174' +
    ' 31,Gibraltar 175 48,Guernsey 177 35,Helsinki 205 24,Isle_of_Man 176 30,Istanbul 209 43,Jersey 178 35,Kalining' +
    'rad 200 29,Kirov 230 25,Kyiv 211 34,Lisbon 171 45,Ljubljana 195 38,London 180 32,Luxembourg 186 34,Madrid 176 ' +
    '44,Malta 195 48,Mariehamn 200 24,Minsk 208 30,Monaco 187 40,Moscow 218 28,Oslo 191 24,Paris 182 35,Podgorica 1' +
    '99 42,Prague 194 34,Riga 204 27,Rome 192 42,Samara 230 31,San_Marino 192 40,Sarajevo 198 40,Saratov 226 32,Sim' +
    'feropol 214 39,Skopje 201 42,Sofia 203 41,Stockholm 198 25,Tallinn 205 25,Tirane 200 43,Ulyanovsk 228 30,Vaduz' +
    ' 190 37,Vatican 192 42,Vienna 196 36,Vilnius 205 29,Volgograd 224 35,Warsaw 201 32,Zagreb 196 38,Zurich 189 37',
  Indian:
    'Antananarivo 228 103,Chagos 252 91,Christmas 286 94,Cocos 277 96,Comoro 223 96,Kerguelen 250 133,Mahe 235 89,M' +
    'aldives 254 80,Mauritius 238 104,Mayotte 225 97,Reunion 235 105',
  Pacific:
    'Apia 8 98,Auckland 355 121,Bougainville 336 90,Chatham 3 128,Chuuk 332 77,Easter 71 111,Efate 348 102,Fakaofo ' +
    '9 93,Fiji 358 102,Funafuti 359 93,Galapagos 90 85,Gambier 45 107,Guadalcanal 340 94,Guam 325 71,Honolulu 22 63' +
    ',Kanton 8 87,Kiritimati 23 82,Kosrae 343 79,Kwajalein 347 75,Majuro 351 77,Marquesas 40 93,Midway 3 56,Nauru 3' +
    '47 85,Niue 10 103,Norfolk 348 113,Noumea 346 106,Pago_Pago 9 98,Palau 314 77,Pitcairn 50 109,Pohnpei 338 77,Po' +
    'rt_Moresby 327 94,Rarotonga 20 105,Saipan 326 69,Tahiti 30 102,Tarawa 353 83,Tongatapu 5 105,Wake 347 65,Walli' +
    's 4 97',
};

/** `{"Europe/Berlin": [774, 126]}` */
export const zonePlaces = Object.fromEntries(Object.entries(cities).flatMap(([area, list]) =>
  list.split(',').map((city) => city.split(' ')).map(([name, x, y]) => [`${area}/${name}`, [x * 4, y * 4]])));
