// GET /v1/apps/{app}/installations/{installId}/notifications

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// How often a fetch starts over because the epoch ends between its reads. Each end is the success of another call.
    private static let fetchAttemptsMax = 20

    var listNotifications: Route {
        Route(.get, Self.installationPattern + "/notifications") { request in
            let last = directory.lastRead
            var isCounted = false
            let first = Result { try notificationReader(request, in: last, &isCounted) }
            if case .success(let reader) = first {
                do {
                    return try await waitingNotifications(for: reader, request, ifDirectoryIs: last.version)
                } catch is DirectoryChanged {}
            }
            let current = try await currentDirectory(for: request)
            let reader = try await keySets.fetchingMissingKey(first: current === last ? first : nil) {
                try notificationReader(request, in: current, &isCounted)
            }
            return try await waitingNotifications(for: reader, request, ifDirectoryIs: nil)
        }
    }

    /// Authenticates the caller by a directory that may be outdated. `NotificationReader.authorized` checks a delivery
    /// key later, against the installation's present epoch.
    private func notificationReader(
        _ request: ServerRequest, in directory: DirectorySnapshot, _ isCounted: inout Bool
    ) throws -> NotificationReader {
        if case .bearer = authentication,
            let presented = DeliveryKey(String(decoding: try credential(request), as: UTF8.self))
        {
            let app = (try? AppID(request.parameters["app"])).flatMap { directory.apps[$0] }
            guard let app, let installID = try? InstallID(request) else { throw APIError.invalidCredential }
            if !isCounted { try limits.admit(from: request.clientAddress, to: app) }
            isCounted = true
            return NotificationReader(
                proof: .deliveryKey(presented), key: InstallationKey(app: app.number, installID: installID), app: app,
                directory: directory, epochKeys: epochKeys)
        }
        let call = try appCall(request, allowing: [.client, .service], in: directory, isCounted: &isCounted)
        let (key, requester) = try installation(of: request, in: call)
        return NotificationReader(
            proof: .caller(call, requester), key: key, app: call.app, directory: directory, epochKeys: epochKeys)
    }

    private func waitingNotifications(
        for reader: NotificationReader, _ request: ServerRequest, ifDirectoryIs version: Int64?
    ) async throws -> ServerResponse {
        let query = Result { try NotificationQuery(request) }
        for _ in 0..<Self.fetchAttemptsMax {
            let state = try reader.authorized(try await notifications.state(of: reader.key, ifDirectoryIs: version))
            if case .caller(let call, _) = reader.proof { try await checkCredential(of: call, on: reader.key) }
            let query = try query.get()
            let names = reader.names(of: state)
            if let page = try await page(for: query, of: reader.key, in: state, named: names) {
                if reader.acknowledges, request.method != .head, query.after > page.numbers.acknowledged {
                    try await notifications.acknowledge(query.after, of: reader.key, in: state.epoch)
                }
                return .json(text(of: page, in: names.epoch))
            }
        }
        throw StoreError.unavailable
    }

    /// - Returns: nil if the epoch has ended after it was read.
    /// - Throws: `APIError.notificationsGone`, `StoreError`.
    private func page(
        for query: NotificationQuery, of key: InstallationKey, in state: NotificationState, named names: EpochNames
    ) async throws -> NotificationPage? {
        let checked = { (numbers: NotificationNumbers) throws(APIError) in
            let isPresent = query.epoch.map { $0 == names.epoch } ?? true
            guard isPresent, !numbers.isGap(after: query.after) else {
                throw .notificationsGone(epoch: names.epoch, first: numbers.first, last: numbers.last)
            }
        }
        try checked(state.numbers)
        guard state.numbers.hasWaiting(after: query.after) else {
            return NotificationPage(numbers: state.numbers, notifications: [], next: nil)
        }
        let page = try await notifications.page(of: key, in: state.epoch, after: query.after, limit: query.limit)
        if let page { try checked(page.numbers) }
        return page
    }

    private func text(of page: NotificationPage, in epoch: String) -> JSONWriter {
        return JSONWriter(capacity: 128 + page.notifications.reduce(0) { $0 + $1.payload.utf8.count + 192 }) { writer in
            writer.member("epoch", epoch)
            writer.array("notifications", page.notifications) { $0.notification($1) }
            writer.member("last", page.numbers.last)
            writer.member("next", page.next)
        }
    }
}

/// The caller of a fetch.
private struct NotificationReader {
    enum Proof {
        /// A delivery key, not checked yet.
        case deliveryKey(DeliveryKey)
        case caller(AppCall, Requester)
    }

    let proof: Proof
    let key: InstallationKey
    let app: App
    let directory: DirectorySnapshot
    let epochKeys: EpochKeys

    /// Only the installation's own credentials acknowledge (fine print 68).
    var acknowledges: Bool {
        switch proof {
        case .deliveryKey: true
        case .caller(let call, _): !call.caller.isService
        }
    }

    /// - Throws: 401 for a delivery key of another installation or of an ended epoch, or if the session has expired;
    ///   404 if the caller may not read the record.
    func authorized(_ state: NotificationState?) throws -> NotificationState {
        switch proof {
        case .caller(_, let requester):
            guard let state, requester.owns(installationOf: state.owner) else { throw APIError.unknownInstallation }
            return state
        case .deliveryKey(let presented):
            guard let state, !state.isSessionExpired, presented.matches(names(of: state).deliveryKey) else {
                throw APIError.endedKey
            }
            return state
        }
    }

    func names(of state: NotificationState) -> EpochNames {
        EpochNames(of: state.epoch, on: key.installID, app: app, directory: directory, epochKeys)
    }
}

extension JSONWriter {
    fileprivate mutating func notification(_ notification: WaitingNotification) {
        object { writer in
            writer.member("number", notification.number)
            writer.name("payload")
            writer.raw(notification.payload.utf8)
            writer.member("at", notification.postedAt.description)
            writer.member("expiresAt", notification.expiresAt.description)
            writer.member("collapseId", notification.collapseID)
        }
    }
}

/// `?after=&epoch=&limit=` of a fetch of notifications.
struct NotificationQuery {
    static let limits: ClosedRange<Int> = 1...100
    static let standardLimit = 100

    /// The highest number that the client has seen.
    let after: Int64
    /// Nil means the present epoch.
    let epoch: String?
    let limit: Int

    /// - Throws: `APIError.invalidParameters` with every fault.
    init(_ request: ServerRequest) throws {
        var query = try QueryParameters(request, ["after", "epoch", "limit"])
        after = query.integer("after", in: 0...Int64.max) ?? 0
        epoch = query["epoch"]
        limit = query.integer("limit", in: Self.limits) ?? Self.standardLimit
        try query.check()
    }
}
