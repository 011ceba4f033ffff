/// The frequency of each locale on each system, in hundred-thousandths.
///
/// Computed from the populations, languages and coverage levels of Unicode CLDR (unicode-org/cldr-json, 2025-12; ©
/// Unicode, Inc., Unicode License v3, SPDX `Unicode-3.0`) times each country's share of iOS in mobile web use by
/// caniuse-lite (browserslist/caniuse-lite, 2026-07, after StatCounter; CC-BY-4.0). Countries with much web use per
/// head get too little weight, and second-language English is weighted with a tenth (estimated).
enum LocaleWeights {
    static let ios = WeightedChoice(
        """
        zh-Hans-CN=25972 en-US=10506 ja-JP=3488 vi-VN=3118 es-MX=2285 pt-BR=2146 hi-IN=2132 id-ID=1872 th-TH=1613
        tr-TR=1532 en-GB=1508 en-NG=1365 ar-SA=1200 ru-RU=1170 fr-FR=1075 de-DE=1053 jv-ID=995 en-IN=988 ar-EG=950
        en-AU=885 ko-KR=874 zh-Hant-TW=842 en-CA=833 it-IT=810 fa-IR=774 bn-BD=752 en-GH=709 es-CO=696 es-ES=688
        my-MM=667 ne-NP=635 fr-CD=621 sw-CD=609 ar-IQ=599 pcm-NG=541 es-US=525 ur-PK=491 ms-MY=476 en-ZA=424
        bn-IN=421 fr-CI=397 te-IN=374 es-GT=371 mr-IN=364 pa-Arab-PK=362 es-AR=358 km-KH=344 ha-NG=335 ig-NG=335
        yo-NG=335 fr-CM=329 zu-ZA=328 en-PH=325 sw-TZ=320 ar-JO=314 ta-IN=307 fil-PH=305 pl-PL=296 pt-MZ=294
        pt-AO=289 fa-AF=285 fr-CA=278 sw-UG=273 lo-LA=269 ar-MA=269 nl-NL=268 fr-GB=262 ur-IN=260 en-PK=259
        az-Arab-IR=248 ps-AF=245 sv-SE=242 gu-IN=234 es-DO=231 es-CL=227 uk-UA=224 fr-SN=221 es-PE=218 ar-DZ=216
        ro-RO=212 fr-DE=208 ru-KZ=199 kn-IN=192 fr-GN=183 af-ZA=178 en-ZM=177 kk-KZ=177 ar-MR=171 fr-IT=171
        ml-IN=166 or-IN=166 es-HN=160 ru-UA=158 es-PH=158 fr-MA=156 de-CH=152 de-AT=152 nl-BE=151 en-IE=147
        pa-IN=146 ht-HT=146 hu-HU=145 be-BY=144 es-FR=144 fr-BJ=143 es-EC=143 he-IL=142 de-GB=138 en-NZ=138
        fr-ML=137 uz-UZ=135 sw-KE=134 pt-PT=131 es-PR=126 es-GB=123 cs-CZ=121 en-ZW=119 am-ET=118 ca-ES=118
        fr-MG=116 sq-AL=113 ar-KW=111 zh-Hans-MY=108 ru-TJ=104 el-GR=104 fr-BE=104 nl-DE=104 az-AZ=104 es-VE=102
        fr-BF=100 ms-ID=100 ar-AE=98 da-DK=97 fr-DZ=96 es-CR=96 ar-SY=93 ar-LY=88 ar-SD=87 ko-KP=85 nb-NO=84
        no-NO=84 ps-PK=83 es-NI=81 it-DE=81 bg-BG=79 ka-GE=78 en-SL=78 fr-CH=78 sd-PK=78 ar-YE=77 si-LK=77 en-MW=76
        fr-HT=75 es-SV=75 en-DE=74 fr-RW=73 mn-MN=72 fr-TG=71 es-DE=69 ru-DE=69
        """)

    static let android = WeightedChoice(
        """
        zh-Hans-CN=12660 hi-IN=10123 en-IN=4691 pt-BR=2263 bn-BD=2244 ar-EG=2070 bn-IN=2000 en-NG=1929 en-US=1847
        te-IN=1778 es-MX=1753 mr-IN=1728 id-ID=1527 ta-IN=1457 ur-PK=1412 vi-VN=1352 am-ET=1348 tr-TR=1239
        ur-IN=1234 sw-TZ=1144 gu-IN=1111 th-TH=1096 pa-Arab-PK=1041 ja-JP=1032 fr-CD=1014 sw-CD=995 ar-SD=973
        fa-IR=945 my-MM=937 kn-IN=914 es-CO=830 jv-ID=811 ml-IN=790 or-IN=790 pcm-NG=764 sw-UG=747 en-PK=743
        ar-IQ=708 pa-IN=691 ar-YE=690 es-AR=629 ru-RU=593 sw-KE=559 fr-FR=538 en-PH=525 pt-MZ=518 ar-SA=510
        fil-PH=492 ar-DZ=484 ha-NG=473 ig-NG=473 yo-NG=473 it-IT=469 es-ES=454 en-GH=453 de-DE=446 ar-SY=445
        en-ZA=442 fr-CM=435 ne-NP=412 fr-MG=410 ha-NE=400 pt-AO=400 en-ZM=379 fr-CI=379 fa-AF=367 fr-ML=356
        ko-KR=345 en-MW=344 zu-ZA=342 fr-BF=340 en-GB=334 ps-AF=316 es-PE=310 az-Arab-IR=302 en-ZW=264 ar-MA=258
        es-PH=254 ko-KP=245 so-ET=245 ti-ET=245 ps-PK=238 es-GT=238 fr-GN=236 pl-PL=233 es-VE=229 sd-PK=223
        fr-BI=219 ar-TD=219 fr-DZ=216 ms-MY=214 zh-Hant-TW=213 es-CL=210 en-PG=205 fr-SN=196 es-CU=196 af-ZA=185
        en-ET=176 en-AU=171 uz-UZ=168 fr-TD=167 ar-JO=167 fr-BJ=163 so-SO=162 en-KE=161 es-EC=151 fr-MA=150
        en-SL=147 ro-RO=146 en-CA=142 uk-UA=140 az-AZ=138 nl-NL=138 lo-LA=134 fr-NE=127 km-KH=126 es-BO=124
        ru-TJ=122 ar-AE=122 ht-HT=121 ar-LY=117 fr-RW=111 ru-UA=99 fr-IT=99 en-SD=97 ar-PS=97 fr-TG=96 en-LR=94
        hu-HU=94 si-LK=93 es-US=92 fr-DE=88 en-TZ=88 ti-ER=86 cs-CZ=85 es-HN=85 ar-TN=83 ms-ID=81 es-DO=81 he-IL=81
        ca-ES=78 en-EG=77 es-FR=72 ar-SO=71 pt-PT=69 es-SV=67 el-GR=67 sv-SE=65 bg-BG=64 fr-HT=63 es-NI=61 ru-KZ=60
        sr-RS=59 fr-GB=58 ar-MR=54 de-AT=54 kk-KZ=54 ar-OM=52 tk-TM=49 be-BY=49
        """)
}
