import PushRegistry

/// The time zones of a region, one region a line: `region zone,offset,latitude,longitude,weight …`. The offset is the
/// one that a device there sends in January 2026, in seconds east of UTC; the coordinates are those of the zone's city;
/// weights are relative within the region.
///
/// Names, regions and coordinates are from tzdata's `zone.tab` (public domain). In large countries the weights of the
/// zones are estimated from the population.
enum ZoneWeights {
    static let lines = """
        AE Asia/Dubai,14400,25.30,55.30,1000
        AF Asia/Kabul,16200,34.52,69.20,1000
        AL Europe/Tirane,3600,41.33,19.83,1000
        AO Africa/Luanda,3600,-8.80,13.23,1000
        AR America/Argentina/Buenos_Aires,-10800,-34.60,-58.45,1000
        AT Europe/Vienna,3600,48.22,16.33,1000
        AU Australia/Sydney,39600,-33.87,151.22,340 Australia/Melbourne,39600,-37.82,144.97,268 \
        Australia/Brisbane,36000,-27.47,153.03,206 Australia/Perth,28800,-31.95,115.85,113 \
        Australia/Adelaide,37800,-34.92,138.58,72
        AZ Asia/Baku,14400,40.38,49.85,1000
        BD Asia/Dhaka,21600,23.72,90.42,1000
        BE Europe/Brussels,3600,50.83,4.33,1000
        BF Africa/Ouagadougou,0,12.37,-1.52,1000
        BG Europe/Sofia,7200,42.68,23.32,1000
        BI Africa/Bujumbura,7200,-3.38,29.37,1000
        BJ Africa/Porto-Novo,3600,6.48,2.62,1000
        BO America/La_Paz,-14400,-16.50,-68.15,1000
        BR America/Sao_Paulo,-10800,-23.53,-46.62,653 America/Fortaleza,-10800,-3.72,-38.50,126 \
        America/Bahia,-10800,-12.98,-38.52,84 America/Recife,-10800,-8.05,-34.90,53 \
        America/Belem,-10800,-1.45,-48.48,53 America/Manaus,-14400,-3.13,-60.02,32
        BY Europe/Minsk,10800,53.90,27.57,1000
        CA America/Toronto,-18000,43.65,-79.38,625 America/Vancouver,-28800,49.27,-123.12,146 \
        America/Edmonton,-25200,53.55,-113.47,135 America/Halifax,-14400,44.65,-63.60,52 \
        America/Winnipeg,-21600,49.88,-97.15,42
        CD Africa/Kinshasa,3600,-4.30,15.30,550 Africa/Lubumbashi,7200,-11.67,27.47,450
        CH Europe/Zurich,3600,47.38,8.53,1000
        CI Africa/Abidjan,0,5.32,-4.03,1000
        CL America/Santiago,-10800,-33.45,-70.67,1000
        CM Africa/Douala,3600,4.05,9.70,1000
        CN Asia/Shanghai,28800,31.23,121.47,985 Asia/Urumqi,21600,43.80,87.58,15
        CO America/Bogota,-18000,4.60,-74.08,1000
        CR America/Costa_Rica,-21600,9.93,-84.08,1000
        CU America/Havana,-18000,23.13,-82.37,1000
        CZ Europe/Prague,3600,50.08,14.43,1000
        DE Europe/Berlin,3600,52.50,13.37,1000
        DK Europe/Copenhagen,3600,55.67,12.58,1000
        DO America/Santo_Domingo,-14400,18.47,-69.90,1000
        DZ Africa/Algiers,3600,36.78,3.05,1000
        EC America/Guayaquil,-18000,-2.17,-79.83,1000
        EG Africa/Cairo,7200,30.05,31.25,1000
        ER Africa/Asmara,10800,15.33,38.88,1000
        ES Europe/Madrid,3600,40.40,-3.68,1000
        ET Africa/Addis_Ababa,10800,9.03,38.70,1000
        FR Europe/Paris,3600,48.87,2.33,1000
        GB Europe/London,0,51.51,-0.13,1000
        GE Asia/Tbilisi,14400,41.72,44.82,1000
        GH Africa/Accra,0,5.55,-0.22,1000
        GN Africa/Conakry,0,9.52,-13.72,1000
        GR Europe/Athens,7200,37.97,23.72,1000
        GT America/Guatemala,-21600,14.63,-90.52,1000
        HN America/Tegucigalpa,-21600,14.10,-87.22,1000
        HT America/Port-au-Prince,-18000,18.53,-72.33,1000
        HU Europe/Budapest,3600,47.50,19.08,1000
        ID Asia/Jakarta,25200,-6.17,106.80,800 Asia/Makassar,28800,-5.12,119.40,170 \
        Asia/Jayapura,32400,-2.53,140.70,30
        IE Europe/Dublin,0,53.33,-6.25,1000
        IL Asia/Jerusalem,7200,31.78,35.22,1000
        IN Asia/Kolkata,19800,22.53,88.37,1000
        IQ Asia/Baghdad,10800,33.35,44.42,1000
        IR Asia/Tehran,12600,35.67,51.43,1000
        IT Europe/Rome,3600,41.90,12.48,1000
        JO Asia/Amman,10800,31.95,35.93,1000
        JP Asia/Tokyo,32400,35.65,139.74,1000
        KE Africa/Nairobi,10800,-1.28,36.82,1000
        KH Asia/Phnom_Penh,25200,11.55,104.92,1000
        KP Asia/Pyongyang,32400,39.02,125.75,1000
        KR Asia/Seoul,32400,37.55,126.97,1000
        KW Asia/Kuwait,10800,29.33,47.98,1000
        KZ Asia/Almaty,18000,43.25,76.95,1000
        LA Asia/Vientiane,25200,17.97,102.60,1000
        LK Asia/Colombo,19800,6.93,79.85,1000
        LR Africa/Monrovia,0,6.30,-10.78,1000
        LY Africa/Tripoli,7200,32.90,13.18,1000
        MA Africa/Casablanca,3600,33.65,-7.58,1000
        MG Indian/Antananarivo,10800,-18.92,47.52,1000
        ML Africa/Bamako,0,12.65,-8.00,1000
        MM Asia/Yangon,23400,16.78,96.17,1000
        MN Asia/Ulaanbaatar,28800,47.92,106.88,1000
        MR Africa/Nouakchott,0,18.10,-15.95,1000
        MW Africa/Blantyre,7200,-15.78,35.00,1000
        MX America/Mexico_City,-21600,19.40,-99.15,833 America/Monterrey,-21600,25.67,-100.32,94 \
        America/Tijuana,-28800,32.53,-117.02,42 America/Hermosillo,-25200,29.07,-110.97,31
        MY Asia/Kuala_Lumpur,28800,3.17,101.70,850 Asia/Kuching,28800,1.55,110.33,150
        MZ Africa/Maputo,7200,-25.97,32.58,1000
        NE Africa/Niamey,3600,13.52,2.12,1000
        NG Africa/Lagos,3600,6.45,3.40,1000
        NI America/Managua,-21600,12.15,-86.28,1000
        NL Europe/Amsterdam,3600,52.37,4.90,1000
        NO Europe/Oslo,3600,59.92,10.75,1000
        NP Asia/Kathmandu,20700,27.72,85.32,1000
        NZ Pacific/Auckland,46800,-36.87,174.77,1000
        OM Asia/Muscat,14400,23.60,58.58,1000
        PE America/Lima,-18000,-12.05,-77.05,1000
        PG Pacific/Port_Moresby,36000,-9.50,147.17,1000
        PH Asia/Manila,28800,14.59,120.97,1000
        PK Asia/Karachi,18000,24.87,67.05,1000
        PL Europe/Warsaw,3600,52.25,21.00,1000
        PR America/Puerto_Rico,-14400,18.47,-66.11,1000
        PS Asia/Gaza,7200,31.50,34.47,1000
        PT Europe/Lisbon,0,38.72,-9.13,1000
        RO Europe/Bucharest,7200,44.43,26.10,1000
        RS Europe/Belgrade,3600,44.83,20.50,1000
        RU Europe/Moscow,10800,55.76,37.62,681 Asia/Yekaterinburg,18000,56.85,60.60,149 \
        Europe/Samara,14400,53.20,50.15,64 Asia/Novosibirsk,25200,55.03,82.92,53 \
        Asia/Krasnoyarsk,25200,56.02,92.83,53
        RW Africa/Kigali,7200,-1.95,30.07,1000
        SA Asia/Riyadh,10800,24.63,46.72,1000
        SD Africa/Khartoum,7200,15.60,32.53,1000
        SE Europe/Stockholm,3600,59.33,18.05,1000
        SL Africa/Freetown,0,8.50,-13.25,1000
        SN Africa/Dakar,0,14.67,-17.43,1000
        SO Africa/Mogadishu,10800,2.07,45.37,1000
        SV America/El_Salvador,-21600,13.70,-89.20,1000
        SY Asia/Damascus,10800,33.50,36.30,1000
        TD Africa/Ndjamena,3600,12.12,15.05,1000
        TG Africa/Lome,0,6.13,1.22,1000
        TH Asia/Bangkok,25200,13.75,100.52,1000
        TJ Asia/Dushanbe,18000,38.58,68.80,1000
        TM Asia/Ashgabat,18000,37.95,58.38,1000
        TN Africa/Tunis,3600,36.80,10.18,1000
        TR Europe/Istanbul,10800,41.02,28.97,1000
        TW Asia/Taipei,28800,25.05,121.50,1000
        TZ Africa/Dar_es_Salaam,10800,-6.80,39.28,1000
        UA Europe/Kyiv,7200,50.43,30.52,1000
        UG Africa/Kampala,10800,0.32,32.42,1000
        US America/New_York,-18000,40.71,-74.01,463 America/Chicago,-21600,41.85,-87.65,292 \
        America/Los_Angeles,-28800,34.05,-118.24,159 America/Denver,-25200,39.74,-104.98,58 \
        America/Phoenix,-25200,33.45,-112.07,22 America/Detroit,-18000,42.33,-83.05,6
        UZ Asia/Tashkent,18000,41.33,69.30,1000
        VE America/Caracas,-14400,10.50,-66.93,1000
        VN Asia/Ho_Chi_Minh,25200,10.75,106.67,1000
        YE Asia/Aden,10800,12.75,45.20,1000
        ZA Africa/Johannesburg,7200,-26.25,28.00,1000
        ZM Africa/Lusaka,7200,-15.42,28.28,1000
        ZW Africa/Harare,7200,-17.83,31.05,1000
        """
}

/// A time zone with its city.
struct Zone: Sendable {
    let id: String
    /// Seconds east of UTC.
    let offset: Int32
    let latitude: Double
    let longitude: Double

    /// The zones of each region, by ISO 3166 code in upper case.
    static let byRegion: [String: WeightedChoice<Zone>] = Dictionary(
        uniqueKeysWithValues: ZoneWeights.lines.split(separator: "\n").map { line in
            let items = line.split(separator: " ")
            return (String(items[0]), WeightedChoice(items.dropFirst().map(weighted)))
        })

    private static func weighted(_ item: Substring) -> (value: Zone, weight: Int) {
        let fields = item.split(separator: ",").map(String.init)
        guard fields.count == 5, let offset = Int32(fields[1]), let latitude = Double(fields[2]),
            let longitude = Double(fields[3]), let weight = Int(fields[4])
        else { preconditionFailure("not a time zone: \(item)") }
        return (Zone(id: fields[0], offset: offset, latitude: latitude, longitude: longitude), weight)
    }

    /// A random location around the city, as far as a suburb or the next town.
    func randomLocation(_ random: inout FleetRandom) -> Location? {
        Location(
            latitude: latitude + (random.fraction() - 0.5) / 2, longitude: longitude + (random.fraction() - 0.5) / 2)
    }
}
