import Basics
import Foundation
import PushRegistry

/// What an audience is, by its definition, one installation at a time.
struct AudienceOracle {
    var asOf: Timestamp
    let links: TimeZoneLinks
    /// Of the installations that have choices about topics.
    var choices: [InstallID: TopicChoices] = [:]

    func holds(_ audience: Audience, _ member: FleetMember) -> Bool {
        isIncluded(audience, member) && holds(audience.filter, member)
    }

    private func isIncluded(_ audience: Audience, _ member: FleetMember) -> Bool {
        guard audience.include != .all else { return true }
        guard member.state == .active else { return false }
        guard audience.include == .reachable else { return true }
        if let expiry = member.sessionExpiresAt, expiry <= asOf { return false }
        if let kind = audience.tokens?.kind, kind != .liveActivity, kind != .liveActivityStart { return true }
        switch member.snapshot.settings.authorizationStatus {
        case .authorized, .provisional, .ephemeral: return true
        case .unknown: return member.provider == .fcm || member.provider == .huawei
        case .denied, .notDetermined: return false
        }
    }

    func holds(_ filter: AudienceFilter, _ member: FleetMember) -> Bool {
        switch filter {
        case .all(let parts): parts.allSatisfy { holds($0, member) }
        case .any(let parts): parts.contains { holds($0, member) }
        case .not(let part): !holds(part, member)
        case .condition(let field, let test): holds(field, test, member)
        case .segment: false
        }
    }

    private func holds(_ field: AudienceField, _ test: FieldPredicate, _ member: FleetMember) -> Bool {
        if case .oneOf(let values) = test, field == .topic { return values.contains { isSubscribed(member, to: $0) } }
        if field == .location { return isNear(test, member.snapshot.device.location) }
        if case .between(let range) = test { return range.contains(localSeconds(member)) }
        guard let value = value(of: field, member) else { return false }
        switch test {
        case .exists: return true
        case .oneOf(let values): return values.contains { isOne(value, $0) }
        case .ordered(let order, let bound): return compare(order, value, bound)
        case .within(let duration):
            guard case .time(let time) = value else { return false }
            return time >= asOf.preceding(by: duration)
        case .between, .near: return false
        }
    }

    private func isSubscribed(_ member: FleetMember, to value: AudienceValue) -> Bool {
        guard case .topic(let topic) = value else { return false }
        return topic.isSubscribed(by: choices[member.installID]?[topic.number])
    }

    private func isNear(_ test: FieldPredicate, _ location: Location?) -> Bool {
        guard let location else { return false }
        guard case .near(let circle) = test else { return true }
        return circle.contains(latitude: location.latitude, longitude: location.longitude)
    }

    private func isOne(_ value: AudienceValue, _ wanted: AudienceValue) -> Bool {
        if case .locale(let locale) = value, case .locale(let wider) = wanted {
            return locale.ancestry.contains(wider.text)
        }
        return value == wanted
    }

    private func compare(_ order: AudienceOrder, _ value: AudienceValue, _ bound: AudienceValue) -> Bool {
        switch (value, bound) {
        case (.version(let left), .version(let right)): order.holds(left, right)
        case (.offset(let left), .offset(let right)): order.holds(left, right)
        case (.time(let left), .time(let right)): order.holds(left, right)
        default: false
        }
    }
}

extension Circle {
    /// Whether a point lies within the circle, by the haversine formula.
    func contains(latitude other: Double, longitude otherLongitude: Double) -> Bool {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let north = sin(radians(other - latitude) / 2)
        let east = sin(radians(otherLongitude - longitude) / 2)
        let square = north * north + cos(radians(latitude)) * cos(radians(other)) * east * east
        return 2 * Self.earthRadiusKm * asin(min(1, square.squareRoot())) <= radiusKm
    }
}

// MARK: - Values

extension AudienceOracle {
    /// Nil where the installation has none.
    func value(of field: AudienceField, _ member: FleetMember) -> AudienceValue? {
        let device = member.snapshot.device
        switch field {
        case .provider: return .text(member.provider.rawValue)
        case .locale: return .locale(device.locale)
        case .language: return device.language.map { .text($0) }
        case .region: return device.region.map { .text($0) }
        case .timeZone: return .text(device.timeZoneID)
        case .utcOffset: return .offset(offset(member))
        case .systemName: return .text(device.systemName)
        case .osVersion: return Version(device.systemVersion).map { .version($0) }
        case .appVersion: return device.appVersion.flatMap { Version($0) }.map { .version($0) }
        case .deviceModel: return .text(device.deviceModel)
        case .carrier: return device.carrier.map { .text($0) }
        case .appStore: return device.appStore.map { .text($0) }
        case .addressKind: return member.state == .superseded ? nil : .text(member.token.addressKind.rawValue)
        case .userID: return member.userID.map { .text($0) }
        case .lastSeenAt: return .time(member.lastSeenAt)
        case .createdAt: return .time(member.createdAt)
        default: return setting(field, member.snapshot.settings)
        }
    }

    private func setting(_ field: AudienceField, _ settings: NotificationSettings) -> AudienceValue? {
        switch field {
        case .authorizationStatus: .text(settings.authorizationStatus.rawValue)
        case .soundSetting: .text(settings.soundSetting.rawValue)
        case .badgeSetting: .text(settings.badgeSetting.rawValue)
        case .alertSetting: .text(settings.alertSetting.rawValue)
        case .notificationCenterSetting: .text(settings.notificationCenterSetting.rawValue)
        case .lockScreenSetting: .text(settings.lockScreenSetting.rawValue)
        case .carPlaySetting: .text(settings.carPlaySetting.rawValue)
        case .criticalAlertSetting: .text(settings.criticalAlertSetting.rawValue)
        case .announcementSetting: .text(settings.announcementSetting.rawValue)
        case .alertStyle: .text(settings.alertStyle.rawValue)
        case .showPreviewsSetting: .text(settings.showPreviewsSetting.rawValue)
        case .providesAppNotificationSettings: settings.providesAppNotificationSettings.map { .flag($0) }
        default: nil
        }
    }

    private func offset(_ member: FleetMember) -> Int64 {
        let device = member.snapshot.device
        guard links.isKnown(device.timeZoneID), let zone = TimeZone(identifier: device.timeZoneID) else {
            return Int64(device.timeZoneOffset)
        }
        let date = Date(timeIntervalSince1970: Double(asOf.microseconds) / 1_000_000)
        return Int64(zone.secondsFromGMT(for: date))
    }

    private func localSeconds(_ member: FleetMember) -> Int {
        let seconds = (asOf.microseconds / 1_000_000 + offset(member)) % 86_400
        return Int((seconds + 86_400) % 86_400)
    }

    /// What a group is made of.
    func key(_ field: AudienceField, _ member: FleetMember) -> String? {
        switch value(of: field, member) {
        case .text(let text): text.text
        case .locale(let locale): locale.text
        case .version(let version): "version \(version.components)"
        case .offset(let offset): "\(offset)"
        case .flag(let flag): "\(flag)"
        case .time, .topic, nil: nil
        }
    }
}

extension AudienceValue {
    static func text(_ text: String) -> AudienceValue { .text(ExactText(text)) }
}
