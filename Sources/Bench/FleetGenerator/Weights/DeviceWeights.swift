/// The frequencies of platforms, systems and models. Integers; each table has its own scale.
enum DeviceWeights {
    /// World, January 2026 (StatCounter, as reported). Platforms other than iOS and Android register by Web Push.
    static let platform = WeightedChoice<Platform>([(.ios, 29), (.android, 70), (.web, 1)])

    /// iOS versions by caniuse-lite (browserslist/caniuse-lite, 2026-07, after StatCounter; CC-BY-4.0), hundredths of a
    /// percent. Ranges were split into patch releases by estimate; iOS 11, mostly robots, is omitted.
    static let ios = WeightedChoice(
        """
        26.5=2900 26.5.1=2633 26.4=300 26.4.1=188 26.3=250 26.3.1=176 26.2=312 26.1=103 26.0=40 26.0.1=59
        18.7.2=700 18.7=306 18.6.2=350 18.5=150 18.4=47 18.3=60 18.3.2=44 18.2=34 18.1=63 18.0=33
        17.7=100 17.6.1=47 17.5=57 17.4=32 17.3=21 17.2=14 17.1=15 17.0=10
        16.7.12=150 16.7=50 16.6=28 16.5=11 16.4=7 16.3=30 16.2=14 16.1=26 16.0=16
        15.8.5=130 15.8=25 15.6=20 15.5=9 15.4=7 15.2=6 15.1=10 14.8=11 14.4=7 13.7=2 13.2=11 12.5.7=34 10.3=11
        """)

    /// The version of devices too old for iOS 26.
    static let lastForOldModels = "18.7.2"

    /// iPhone generations of the US (Start.io, press release of 2025-09) and the shares of three models are published;
    /// the shares of the other models are estimated. Names: kyle-seongwoo-jun/apple-device-identifiers (MIT), 2025-11.
    static let iphone = WeightedChoice(
        """
        iPhone14,5=9222 iPhone14,2=2894 iPhone14,3=3892 iPhone14,4=998 iPhone14,7=6886 iPhone14,8=1796
        iPhone15,2=4192 iPhone15,3=5998 iPhone15,4=6287 iPhone15,5=1597 iPhone16,1=4092 iPhone16,2=5559
        iPhone17,3=4431 iPhone17,4=1297 iPhone17,1=4391 iPhone17,2=5958 iPhone17,5=2216 iPhone13,2=5190
        iPhone13,1=898 iPhone13,3=2196 iPhone13,4=2595 iPhone12,1=6587 iPhone12,3=1098 iPhone12,5=1497
        iPhone12,8=2096 iPhone14,6=1896 iPhone11,8=1896 iPhone11,2=499 iPhone11,6=599 iPhone10,6=299
        iPhone10,3=250 iPhone10,4=200 iPhone10,1=200 iPhone10,5=200 iPhone9,1=50 iPhone8,1=50
        """)

    /// iPads: names from the same list; the shares are estimated.
    static let ipad = WeightedChoice(
        """
        iPad13,18=22 iPad12,1=20 iPad15,7=14 iPad13,16=10 iPad14,8=8 iPad15,3=6 iPad14,1=6 iPad16,1=4
        iPad16,3=4 iPad14,5=3 iPad13,1=3
        """)

    /// Android versions by Google's own distribution of 2025-12-01, as reported; tenths of a percent.
    static let android = WeightedChoice(
        """
        16=75 15=193 14=172 13=139 12=114 11=137 10=78 9=45 8.1.0=23 8.0.0=8 7.1.1=4 7.0=4 6.0.1=4 5.1.1=3 5.0.2=1
        """)

    /// Android models. The vendors' shares are IDC's shipments of Q2 2025 (as reported) without Apple; the models are
    /// examples of each vendor.
    static let androidModel = WeightedChoice(
        """
        SM-A155F=60 SM-A546B=50 SM-S918B=45 SM-S928B=42 2312DRA50G=50 23129RAA4G=48 2409BRN2CA=46 V2302=48 V2339=44
        TECNO-KJ5=44 Infinix-X6831=41 CPH2581=85 CPH2591=70 RMX3830=60 moto-g54=55 Pixel-8=30 Pixel-9=26
        ANY-NX1=20 NOH-NX9=20 ALN-AL00=20
        """)

    /// Releases of the app (estimated): most devices update within weeks and some never do.
    static let appVersion = WeightedChoice(
        """
        7.12.0=46 7.11.3=21 7.11.2=9 7.10.1=7 7.9.0=5 7.4.2=4 6.20.0=3 6.3.1=2 5.17.10=2 4.0=1
        """)
}

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
