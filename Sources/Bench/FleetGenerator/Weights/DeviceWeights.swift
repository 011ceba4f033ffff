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
