import HTTPApplication
import HTTPTypes
import HTTPWire
import Logging
import PushRegistry
import Receipts

/// The HTTP API of the registry. Each event loop has one. The first lines of a file name the routes that it has.
public struct RegistryService: Sendable {
    let installations: any InstallationStore
    let users: any UserStore
    let notifications: any NotificationStore
    let feedback: any FeedbackStore
    let events: any EventStore
    let messages: any MessageStore
    let audiences: any AudienceStore
    let segments: any SegmentStore
    let topics: any TopicStore
    let directory: any AppDirectory
    let admin: AdminKey
    let links: TimeZoneLinks
    let readiness: ReadinessCheck
    let metrics: @Sendable () -> [UInt8]
    let keySets: ProviderKeySets
    let limits: CallLimits
    let receiptKeys: ReceiptKeys
    let bodyLimits: BodyLimits
    let apiDescription: APIDescription
    let errorPage: ErrorPage
    let keyUses: any KeyUseRecorder
    let cleanUpRuns: any CleanUpRunStore
    let auditEntries: any AuditStore
    let console: Console
    let logger: Logger
    /// How a call proves who its caller is.
    var authentication = Authentication.bearer
    let userTokens = UserTokenCache()
    let verifiedKeys: VerifiedKeys
    let epochKeys = EpochKeys()
    let audit = Audit()

    /// - Parameters:
    ///   - keySets: shared by all event loops.
    ///   - limits: shared by all event loops.
    ///   - receiptKeys: shared by all event loops.
    ///   - readiness: for `GET /readyz`.
    ///   - metrics: returns the text of `GET /metrics`.
    ///   - console: its parts that event loops share.
    public init(
        installations: any InstallationStore, users: any UserStore, notifications: any NotificationStore,
        feedback: any FeedbackStore, events: any EventStore, messages: any MessageStore, audiences: any AudienceStore,
        segments: any SegmentStore, topics: any TopicStore, directory: any AppDirectory, admin: AdminKey,
        links: TimeZoneLinks, keySets: ProviderKeySets, limits: CallLimits, receiptKeys: ReceiptKeys,
        bodyLimits: BodyLimits = BodyLimits(), apiDescription: APIDescription, errorPage: ErrorPage,
        keyUses: any KeyUseRecorder, cleanUpRuns: any CleanUpRunStore, auditEntries: any AuditStore,
        readiness: ReadinessCheck, metrics: @escaping @Sendable () -> [UInt8],
        console: Console, logger: Logger
    ) {
        (self.installations, self.users, self.notifications) = (installations, users, notifications)
        (self.feedback, self.events, self.messages, self.audiences) = (feedback, events, messages, audiences)
        (self.segments, self.topics, self.directory, self.admin) = (segments, topics, directory, admin)
        (self.links, self.readiness, self.keySets, self.limits) = (links, readiness, keySets, limits)
        (self.receiptKeys, self.bodyLimits, self.apiDescription) = (receiptKeys, bodyLimits, apiDescription)
        (self.errorPage, self.keyUses) = (errorPage, keyUses)
        verifiedKeys = VerifiedKeys(uses: keyUses)
        (self.cleanUpRuns, self.auditEntries, self.metrics) = (cleanUpRuns, auditEntries, metrics)
        (self.console, self.logger) = (console, logger)
    }

    /// The routes with their middleware: errors, CORS and cache control.
    public func application(observers: [any RequestObserver]) -> Application {
        let wrapped = routes.map { $0.wrapped(in: renderErrors) }
        var application = Application(
            router: Router(sharedWithAllowedOrigins(wrapped).map(Self.protected) + consoleRoutes), observers: observers,
            renderProblem: ProblemDocument.response)
        application.ownFields = ConsoleHeaders.ofOwnResponses
        return application
    }

    /// Browsers must not guess the type of a response. Those under `/v1` contain personal data or secrets, so they must
    /// not be cached either.
    private static func protected(_ route: Route) -> Route {
        let isPersonal = route.pattern.hasPrefix("/v1/")
        return route.wrapped { next in
            { request in
                var response = try await next(request)
                if isPersonal { response.fields[.cacheControl] = "no-store" }
                response.fields[.xContentTypeOptions] = "nosniff"
                return response
            }
        }
    }

    var routes: [Route] { Self.table.map { $0(self) } }

    /// The routes outside of the console, each as a property, because the console serves them for the caller of a
    /// session, too.
    static var table: [@Sendable (RegistryService) -> Route] {
        [
            \.putInstallation, \.getInstallation, \.deleteInstallation, \.listSnapshots, \.logOutInstallation,
            \.endSession, \.logOutUser, \.listUserInstallations, \.listInstallationsOfUsers, \.eraseUser,
            \.postNotification, \.listNotifications,
            \.postFeedback, \.releaseFeedback, \.restoreFeedback, \.listHistory, \.listTokenHistory, \.listChanges,
            \.countAudience, \.countAudienceByQuery,
            \.breakDownAudience, \.trendAudience, \.listAudience, \.exportAudience, \.planWaves, \.listSegments,
            \.putSegment, \.getSegment, \.deleteSegment, \.putMessage, \.getMessage, \.listMessages, \.breakDownMessage,
            \.getTimeline, \.listUndelivered, \.postAccepted, \.postReceipts, \.listTopics, \.putTopic, \.getTopic,
            \.deleteTopic, \.getInstallationTopics, \.patchInstallationTopics, \.getUserTopics, \.patchUserTopics,
            \.putTypedToken, \.deleteTypedToken, \.listApps, \.putApp, \.patchApp, \.getApp, \.deleteApp, \.createKey,
            \.listKeys, \.revokeKey, \.getCaller, \.listAudit, \.listServerAudit, \.listCleanUpRuns, \.health, \.ready,
            \.metricsText, \.describeAPI, \.describeErrors, \.linkPage,
        ]
    }

    /// Compresses streams, turns errors into problem documents, and logs errors of the service.
    func renderErrors(_ next: @escaping Handler) -> Handler {
        { request in
            do {
                return try StreamCompression.apply(to: try await next(request), for: request)
            } catch {
                guard var known = APIError(error) ?? Self.unforeseen(error, request) else { throw error }
                if known.isGuess, let wait = limits.countGuess(from: request.clientAddress) {
                    known = .tooManyFailedAuthentications(retryAfter: wait)
                }
                if !known.isFailedAuthentication || limits.mayLogFailure(from: request.clientAddress) {
                    audit.refused(known, by: (error as? RefusedCall)?.caller, request)
                }
                if case .store(.failed(let description)) = known {
                    logger.error("\(description)", metadata: ["requestId": "\(request.requestID)"])
                }
                return ProblemDocument.response(known, request.requestID)
            }
        }
    }

    /// An unexpected error as an internal one; nil for errors that the HTTP engine renders, and for cancelled calls.
    private static func unforeseen(_ error: any Error, _ request: ServerRequest) -> APIError? {
        if error is Problem || error is WireError || Task.isCancelled { return nil }
        return .store(.failed("\(request.routePattern): \(error)"))
    }
}
