// Where the time zones' cities are: zone.tab of tzdata, public domain, in the plane of coast.js.

const cities = {
  Africa:
    'Abidjan 704 315,Accra 719 314,Addis_Ababa 875 300,Algiers 732 189,Asmara 876 275,Bamako 688 285,Bangui 794 319' +
    ',Banjul 653 282,Bissau 658 289,Blantyre 860 399,Brazzaville 781 353,Bujumbura 837 350,Cairo 845 216,Casablanca' +
    ' 690 201,Ceuta 699 192,Conakry 665 298,Dakar 650 277,Dar_es_Salaam 877 363,Djibouti 893 290,Douala 759 320,El_' +
    'Aaiun 667 227,Freetown 667 302,Gaborone 824 435,Harare 844 407,Johannesburg 832 441,Juba 846 317,Kampala 850 3' +
    '35,Khartoum 850 274,Kigali 840 344,Kinshasa 781 353,Lagos 734 310,Libreville 758 334,Lome 725 311,Luanda 773 3' +
    '71,Lubumbashi 830 383,Lusaka 833 398,Malabo 755 321,Maputo 850 440,Maseru 830 454,Mbabane 844 441,Mogadishu 90' +
    '1 328,Monrovia 677 311,Nairobi 867 341,Ndjamena 780 288,Niamey 728 282,Nouakchott 656 264,Ouagadougou 714 287,' +
    'Porto-Novo 730 310,Sao_Tome 747 335,Tripoli 773 204,Tunis 761 189,Windhoek 788 426',
  America:
    'Adak 13 129,Anchorage 120 91,Anguilla 468 263,Antigua 473 268,Araguaina 527 365,Argentina/Buenos_Aires 486 474' +
    ',Argentina/Catamarca 457 450,Argentina/Cordoba 463 462,Argentina/Jujuy 459 433,Argentina/La_Rioja 453 454,Arge' +
    'ntina/Mendoza 445 468,Argentina/Rio_Gallegos 443 543,Argentina/Salta 458 435,Argentina/San_Juan 446 462,Argent' +
    'ina/San_Luis 455 469,Argentina/Tucuman 459 443,Argentina/Ushuaia 447 555,Aruba 440 286,Asuncion 489 437,Atikok' +
    'an 354 141,Bahia 566 388,Bahia_Banderas 299 253,Barbados 482 284,Belem 526 342,Belize 367 266,Blanc-Sablon 492' +
    ' 130,Boa_Vista 477 325,Bogota 424 318,Boise 255 162,Cambridge_Bay 300 60,Campo_Grande 502 418,Cancun 373 252,C' +
    'aracas 452 294,Cayenne 511 316,Cayman 394 259,Chicago 369 169,Chihuahua 296 221,Ciudad_Juarez 294 209,Costa_Ri' +
    'ca 384 296,Coyhaique 432 518,Creston 254 140,Cuiaba 496 398,Curacao 444 287,Danmarkshavn 645 29,Dawson 162 80,' +
    'Dawson_Creek 239 113,Denver 300 177,Detroit 388 167,Dominica 474 275,Edmonton 266 122,Eirunepe 441 363,El_Salv' +
    'ador 363 281,Fort_Nelson 229 101,Fortaleza 566 351,Glace_Bay 480 151,Goose_Bay 478 123,Grand_Turk 435 250,Gren' +
    'ada 473 288,Guadeloupe 474 271,Guatemala 358 277,Guayaquil 401 345,Guyana 487 309,Halifax 466 157,Havana 391 2' +
    '43,Hermosillo 276 220,Indiana/Indianapolis 375 177,Indiana/Knox 374 171,Indiana/Marengo 375 183,Indiana/Peters' +
    'burg 371 182,Indiana/Tell_City 373 184,Indiana/Vevay 380 181,Indiana/Vincennes 370 181,Indiana/Winamac 374 172' +
    ',Inuvik 185 63,Iqaluit 446 81,Jamaica 413 264,Juneau 182 103,Kentucky/Louisville 377 183,Kentucky/Monticello 3' +
    '81 189,Kralendijk 447 287,La_Paz 447 402,Lima 412 384,Los_Angeles 247 200,Lower_Princes 468 264,Maceio 577 375' +
    ',Managua 375 287,Manaus 480 349,Marigot 468 264,Martinique 476 278,Matamoros 330 233,Mazatlan 294 243,Menomine' +
    'e 370 156,Merida 362 252,Metlakatla 194 116,Mexico_City 323 258,Miquelon 495 148,Moncton 461 152,Monterrey 319' +
    ' 233,Montevideo 495 476,Montserrat 471 269,Nassau 411 236,New_York 424 173,Nome 58 78,Noronha 590 351,North_Da' +
    'kota/Beulah 313 147,North_Dakota/Center 315 148,North_Dakota/New_Salem 314 149,Nuuk 513 79,Ojinaga 302 218,Pan' +
    'ama 402 300,Paramaribo 499 313,Phoenix 272 202,Port-au-Prince 431 262,Port_of_Spain 474 293,Porto_Velho 464 37' +
    '1,Puerto_Rico 456 262,Punta_Arenas 436 549,Rankin_Inlet 352 85,Recife 580 368,Regina 301 134,Resolute 341 37,R' +
    'io_Branco 449 376,Santarem 501 346,Santiago 437 470,Santo_Domingo 440 262,Sao_Paulo 534 430,Scoresbysund 632 5' +
    '4,Sitka 179 107,St_Barthelemy 469 264,St_Johns 509 146,St_Kitts 469 267,St_Lucia 476 280,St_Thomas 460 263,St_' +
    'Vincent 475 283,Swift_Current 289 135,Tegucigalpa 371 280,Thule 445 30,Tijuana 252 206,Toronto 402 161,Tortola' +
    ' 462 262,Vancouver 228 139,Whitehorse 180 93,Winnipeg 331 136,Yakutat 161 98',
  Antarctica:
    'Casey 1162 576,Davis 1032 576,DumontDUrville 1280 576,Macquarie 1356 554,Mawson 972 576,McMurdo 1386 576,Palme' +
    'r 464 576,Rothera 447 576,Syowa 878 576,Troll 730 576,Vostok 1148 576',
  Arctic:
    'Longyearbyen 784 24',
  Asia:
    'Aden 901 285,Almaty 1028 163,Amman 864 208,Anadyr 1430 77,Aqtau 921 158,Aqtobe 949 135,Ashgabat 954 184,Atyrau' +
    ' 928 148,Baghdad 898 203,Bahrain 922 230,Baku 919 174,Bangkok 1122 281,Barnaul 1055 123,Beirut 862 200,Bishkek' +
    ' 1018 164,Brunei 1180 316,Chita 1174 128,Colombo 1039 308,Damascus 865 202,Dhaka 1082 241,Dili 1222 370,Dubai ' +
    '941 235,Dushanbe 995 182,Famagusta 856 196,Gaza 858 210,Hebron 860 210,Ho_Chi_Minh 1147 293,Hong_Kong 1177 247' +
    ',Hovd 1087 144,Irkutsk 1137 127,Jakarta 1147 361,Jayapura 1283 346,Jerusalem 861 209,Kabul 997 198,Kamchatka 1' +
    '355 124,Karachi 988 237,Kathmandu 1061 225,Khandyga 1262 85,Kolkata 1073 246,Krasnoyarsk 1091 112,Kuala_Lumpur' +
    ' 1127 323,Kuching 1161 330,Kuwait 912 219,Macau 1174 247,Magadan 1323 98,Makassar 1198 356,Manila 1204 278,Mus' +
    'cat 954 242,Nicosia 853 195,Novokuznetsk 1068 121,Novosibirsk 1052 116,Omsk 1014 116,Oral 925 131,Phnom_Penh 1' +
    '140 290,Pontianak 1157 336,Pyongyang 1223 180,Qatar 926 235,Qostanay 974 123,Qyzylorda 982 157,Riyadh 907 237,' +
    'Sakhalin 1291 148,Samarkand 987 177,Seoul 1228 186,Shanghai 1206 211,Singapore 1135 331,Srednekolymsk 1335 66,' +
    'Taipei 1206 236,Tashkent 997 171,Tbilisi 899 169,Tehran 926 193,Thimphu 1079 226,Tokyo 1279 193,Tomsk 1060 110' +
    ',Ulaanbaatar 1148 144,Urumqi 1070 161,Ust-Nera 1293 78,Vientiane 1130 264,Vladivostok 1248 163,Yakutsk 1239 88' +
    ',Yangon 1105 269,Yekaterinburg 962 109,Yerevan 898 175',
  Atlantic:
    'Azores 617 185,Bermuda 461 207,Canary 658 224,Cape_Verde 626 276,Faroe 693 88,Madeira 652 205,Reykjavik 633 79' +
    ',South_Georgia 574 553,St_Helena 697 400,Stanley 489 543',
  Australia:
    'Adelaide 1274 476,Brisbane 1332 446,Broken_Hill 1286 464,Darwin 1243 386,Eucla 1235 463,Hobart 1309 508,Lindem' +
    'an 1316 417,Lord_Howe 1356 462,Melbourne 1300 487,Perth 1183 464,Sydney 1325 471',
  Europe:
    'Amsterdam 740 127,Andorra 726 166,Astrakhan 912 151,Athens 815 184,Belgrade 802 157,Berlin 773 126,Bratislava ' +
    '788 143,Brussels 737 133,Bucharest 824 158,Budapest 796 146,Busingen 755 145,Chisinau 835 148,Copenhagen 770 1' +
    '13,Dublin 695 123,Gibraltar 699 191,Guernsey 710 138,Helsinki 820 95,Isle_of_Man 702 119,Istanbul 836 172,Jers' +
    'ey 712 139,Kaliningrad 802 117,Kirov 919 102,Kyiv 842 134,Lisbon 683 181,Ljubljana 778 152,London 720 130,Luxe' +
    'mbourg 745 138,Madrid 705 174,Malta 778 192,Mariehamn 800 96,Minsk 830 120,Monaco 750 161,Moscow 870 113,Oslo ' +
    '763 96,Paris 729 141,Podgorica 797 166,Prague 778 136,Riga 816 108,Rome 770 168,Samara 921 123,San_Marino 770 ' +
    '160,Sarajevo 794 161,Saratov 904 130,Simferopol 856 156,Skopje 806 168,Sofia 813 165,Stockholm 792 99,Tallinn ' +
    '819 98,Tirane 799 171,Ulyanovsk 914 119,Vaduz 758 147,Vatican 770 168,Vienna 785 143,Vilnius 821 117,Volgograd' +
    ' 898 141,Warsaw 804 127,Zagreb 784 153,Zurich 754 146',
  Indian:
    'Antananarivo 910 412,Chagos 1010 365,Christmas 1143 378,Cocos 1108 385,Comoro 893 383,Kerguelen 1001 533,Mahe ' +
    '942 355,Maldives 1014 319,Mauritius 950 417,Mayotte 901 387,Reunion 942 419',
  Pacific:
    'Apia 33 391,Auckland 1419 483,Bougainville 1342 361,Chatham 14 512,Chuuk 1327 306,Easter 282 445,Efate 1394 40' +
    '7,Fakaofo 35 373,Fiji 1434 409,Funafuti 1437 370,Galapagos 362 340,Gambier 180 429,Guadalcanal 1361 374,Guam 1' +
    '299 282,Honolulu 89 251,Kanton 33 347,Kiritimati 91 329,Kosrae 1372 315,Kwajalein 1389 300,Majuro 1405 307,Mar' +
    'quesas 162 372,Midway 11 223,Nauru 1388 338,Niue 40 412,Norfolk 1392 452,Noumea 1386 425,Pago_Pago 37 393,Pala' +
    'u 1258 307,Pitcairn 200 436,Pohnpei 1353 308,Port_Moresby 1309 374,Rarotonga 81 421,Saipan 1303 275,Tahiti 122' +
    ' 406,Tarawa 1412 330,Tongatapu 19 421,Wake 1386 259,Wallis 15 389',
};

/** `{"Europe/Berlin": [774, 126]}` */
export const zonePlaces = Object.fromEntries(Object.entries(cities).flatMap(([area, list]) =>
  list.split(',').map((city) => city.split(' ')).map(([name, x, y]) => [`${area}/${name}`, [Number(x), Number(y)]])));
