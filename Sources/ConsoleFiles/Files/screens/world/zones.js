// Where the time zones' cities are: zone.tab of tzdata, public domain. `zonePlaces` has them in the plane of coast.js.
//
// The two last characters of a name are its place: how many steps of two and a half degrees it is east of 180° W, times
// 58, plus how many it is south of 84° N, as a number whose digits are the characters of `digits`.

const digits = ' !"#$%&()*+-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~';

const cities = {
  Africa:
    'AbidjanNN,AccraOf,Addis_AbabaYm,AlgiersP7,AsmaraYk,BamakoMm,BanguiTk,BanjulK<,BissauKx,BlantyreX_,Brazzavill'
    + 'eSU,BujumburaWA,CairoW4,CasablancaMe,CeutaNA,ConakryKy,DakarK<,Dar_es_SalaamYs,DjiboutiZI,DoualaR:,El_AaiunL'
    + 'O,FreetownLV,GaboroneV2,HarareWG,JohannesburgVm,JubaWy,KampalaW{,KhartoumWt,KigaliW@,KinshasaSU,LagosPC,Libr'
    + 'evilleR<,LomeOf,LuandaRz,LubumbashiVg,LusakaVi,MalaboR:,MaputoX&,MaseruVn,MbabaneWJ,Mogadishu[*,MonroviaM5,N'
    + 'airobiY6,NdjamenaSO,NiameyP@,NouakchottKu,OuagadougouO(,Porto-NovoPC,Sao_TomeQ_,TripoliRi,TunisR-,WindhoekT;',
  America:
    'Adak j,Anchorage(`,Anguilla?w,Antigua?x,AraguainaCm,Argentina/Buenos_AiresAH,Argentina/Catamarca?O,Argentina'
    + '/Cordoba?P,Argentina/Jujuy?M,Argentina/La_Rioja>r,Argentina/Mendoza>9,Argentina/Rio_Gallegos>@,Argentina/Sal'
    + 'ta?N,Argentina/San_Juan>8,Argentina/San_Luis?Q,Argentina/Tucuman?N,Argentina/Ushuaia>},Aruba>%,AsuncionAD,At'
    + 'ikokan86,BahiaEf,Bahia_Banderas53,Barbados@V,BelemCk,Belize9Z,Blanc-SablonA#,Boa_Vista@Z,Bogota<o,Boise2V,Ca'
    + 'mbridge_Bay4},Campo_GrandeA},Cancun9Y,Caracas>c,CayenneBP,Cayman;P,Chicago9Q,Chihuahua50,Ciudad_Juarez5/,Cos'
    + 'ta_Rica:<,Coyhaique=a,Creston1w,CuiabaA{,Curacao>%,DanmarkshavnJE,Dawson+2,Dawson_Creek19,Denver5+,Detroit:j'
    + ',Dominica@V,Edmonton30,Eirunepe>.,El_Salvador9 ,Fort_Nelson0Z,FortalezaF?,Glace_Bay@I,Goose_Bay@F,Grand_Turk'
    + '>!,Grenada?z,Guadeloupe?x,Guatemala9 ,Guayaquil;X,GuyanaA7,Halifax?2,Havana:q,Hermosillo3u,Indiana/Indianapo'
    + 'lis:0,Indiana/Knox9Q,Indiana/Marengo:0,Indiana/Petersburg9R,Indiana/Tell_City9R,Indiana/Vevay:0,Indiana/Vinc'
    + 'ennes9R,Indiana/Winamac9Q,Inuvik-H,Iqaluit>L,Jamaica<.,Juneau-L,Kentucky/Louisville:0,Kentucky/Monticello:1,'
    + 'Kralendijk>b,La_Paz>m,Lima<:,Los_Angeles1},Lower_Princes?w,MaceioF},Managua:;,Manaus@^,Marigot?w,Martinique@'
    + 'V,Matamoros7%,Mazatlan52,Menominee9P,Merida8|,Metlakatla.+,Mexico_City6L,MiquelonAb,Moncton?1,Monterrey6I,Mo'
    + 'ntevideoB$,Montserrat?x,Nassau<+,New_York<`,Nome#s,NoronhaGW,North_Dakota/Beulah5d,North_Dakota/Center6A,Nor'
    + 'th_Dakota/New_Salem6A,NuukB8,Ojinaga50,Panama;T,ParamariboAr,Phoenix38,Port-au-Prince=F,Port_of_Spain?z,Port'
    + 'o_Velho?G,Puerto_Rico?<,Punta_Arenas>A,Rankin_Inlet80,RecifeF|,Regina5&,Resolute7N,Rio_Branco>k,SantaremAu,S'
    + 'antiago>9,Santo_Domingo>",Sao_PauloCt,ScoresbysundIk,Sitka-M,St_Barthelemy?w,St_JohnsB>,St_Kitts?x,St_Lucia@'
    + 'V,St_Thomas?<,St_Vincent@V,Swift_Current4J,Tegucigalpa9],Thule=j,Tijuana1},Toronto;F,Tortola?<,Vancouver0_,W'
    + 'hitehorse-K,Winnipeg6{,Yakutat+4',
  Antarctica:
    'Caseylh,DavisdU,DumontDUrvillet?,MacquarieyA,Mawson`j,McMurdo{9,Palmer?[,Rothera>~,SyowaZ*,TrollP^,Vostokl-',
  Arctic:
    'LongyearbyenS4',
  Asia:
    'Aden[$,Almatyd+,AmmanXK,Anadyr}8,Aqtau]2,Aqtobe_$,Ashgabat_),Atyrau]l,BaghdadZ{,Bahrain]9,Baku]4,Bangkokiw,B'
    + 'arnaule{,BeirutXJ,BishkekcN,Bruneimg,Chitalv,Colombodv,DamascusXJ,DhakagB,Dilip?,Dubai^R,Dushanbeb8,Famagust'
    + 'aXJ,GazaXK,HebronXK,Ho_Chi_Minhkn,Hong_Kongm`,Hovdgs,Irkutskk!,Jakartaku,Jayapurat(,JerusalemXK,Kabulb:,Kamc'
    + 'hatkaxs,Karachiaa,Kathmanduf&,KhandygarR,Kolkatafe,Krasnoyarskgp,Kuala_LumpurjX,KuchinglO,Kuwait[Z,Macaum`,M'
    + 'agadanv@,Makassaro$,Manilan{,Muscat_k,NicosiaWm,NovokuznetskfX,Novosibirske@,Omskbm,Oral]/,Phnom_Penhk3,Pont'
    + 'ianaklP,Pyongyangp+,Qatar]u,Qostanay`w,Qyzylorda`{,Riyadh[],SakhalintO,SamarkandaZ,Seoulpg,Shanghaint,Singap'
    + 'orek7,SrednekolymskwU,TaipeioT,Tashkentb7,TbilisiZx,Tehran]5,ThimphugA,Tokyosv,Tomskez,Ulaanbaatark_,Urumqif'
    + '],Ust-NeratH,VientianejR,Vladivostokq},Yakutskq;,Yangonh^,Yekaterinburg_^,YerevanZy',
  Atlantic:
    'AzoresI<,Bermuda?7,CanaryKq,Cape_VerdeIF,FaroeMY,MadeiraK4,ReykjavikIm,South_GeorgiaFS,St_HelenaNV,StanleyAN',
  Australia:
    'Adelaidet6,Brisbanew@,Broken_Hillt4,DarwinqX,Euclaqa,Hobartv/,Lindemanva,Lord_Howey8,MelbourneuO,Perthmu,Syd'
    + 'neyvf',
  Europe:
    'AmsterdamPl,AndorraP5,Astrakhan[S,AthensUu,BelgradeTZ,BerlinRb,BratislavaS{,BrusselsPl,BucharestUs,BudapestT'
    + 'X,BusingenR&,ChisinauW-,CopenhagenR`,DublinN:,GibraltarNA,GuernseyNw,HelsinkiUm,Isle_of_ManN:,IstanbulW/,Jer'
    + 'seyNw,KaliningradTV,Kirov]+,KyivW+,LisbonM&,LjubljanaSA,LondonOS,LuxembourgPm,MadridN@,MaltaSE,MariehamnTT,M'
    + 'inskVL,MonacoQL,MoscowX|,OsloR",ParisP2,PodgoricaT[,PragueS@,RigaUn,RomeRf,Samara].,San_MarinoRe,SarajevoS},'
    + 'SaratovZt,SimferopolXF,SkopjeT[,SofiaU8,StockholmSw,TallinnUm,TiraneT[,Ulyanovsk[P,VaduzR(,VaticanRf,ViennaS'
    + '@,VilniusUo,VolgogradZu,WarsawTW,ZagrebSA,ZurichR(',
  Indian:
    'Antananarivo[n,Chagosc&,Christmask<,CocosiF,ComoroZR,Kerguelenb[,Mahe^_,Maldivesc_,Mauritius_B,Mayotte[1,Reu'
    + 'nion^e',
  Pacific:
    'Apia"?,Auckland}$,Bougainvillews,Chatham!3,Chuukw3,Easter4.,Efate{(,Fakaofo"x,Fiji}Y,Funafuti}U,Galapagos9&,'
    + 'Gambier-n,Guadalcanaly0,Guamu:,Honolulu%z,Kanton";,Kiritimati&#,Kosraeye,Kwajaleinz{,Majuro{Y,Marquesas+O,Mi'
    + 'dway s,Nauru{ ,Niue"|,Norfolk{-,NoumeazL,Pago_Pago"z,Palaurj,Pitcairn/),PohnpeixK,Port_Moresbyv ,Rarotonga%P'
    + ',Saipanu:,Tahiti)!,Tarawa|9,Tongatapu!e,Wakezw,Wallis!b',
};

/** `{"Europe/Berlin": [770, 130]}` */
export const zonePlaces = Object.fromEntries(Object.entries(cities).flatMap(([area, list]) =>
  list.split(',').map((city) => {
    const place = digits.indexOf(city.at(-2)) * digits.length + digits.indexOf(city.at(-1));
    return [`${area}/${city.slice(0, -2)}`, [Math.floor(place / 58) * 10, (place % 58) * 10]];
  })));
