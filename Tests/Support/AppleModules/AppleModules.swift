// The declarations of Apple's modules that the app's side uses, as far as it uses them, so that Linux can check its
// types. `PlatformTests` compiles this file once for each module and platform. Nothing of it is ever run.

import Foundation

#if MODULE_UIKit && !PLATFORM_watchOS
@_exported import Foundation

@MainActor
open class UIDevice {
    public static let current = UIDevice()
    public var systemName: String { fatalError() }
    public var systemVersion: String { fatalError() }
    public var identifierForVendor: UUID? { fatalError() }
}

@MainActor
open class UIApplication {
    public struct LaunchOptionsKey: Hashable, Sendable {}

    open func registerForRemoteNotifications() {}
}

/// Apple's requirements are optional. Here a wrong signature is an error.
@MainActor
public protocol UIApplicationDelegate: NSObjectProtocol {
    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
    func application(
        _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error)
}
#endif

#if MODULE_SwiftUI
import UIKit

@MainActor
public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() {}
}

@MainActor
public protocol Scene {}

@MainActor
public protocol View {}

public struct WindowGroup<Content: View>: Scene {
    public init(content: () -> Content) {}
}

public enum ScenePhase: Sendable { case background, inactive, active }

public struct BackgroundTask<Request, Response>: Sendable {
    public static func appRefresh(_ identifier: String) -> Self where Request == Void, Response == Void { fatalError() }
}

extension Scene {
    public func onChange<V: Equatable>(of value: V, initial: Bool = false, _ action: @escaping (V, V) -> Void)
        -> some Scene
    { self }

    public func backgroundTask<D: Sendable, R: Sendable>(
        _ task: BackgroundTask<D, R>, action: @escaping @Sendable (D) async -> R
    ) -> some Scene { self }
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { fatalError() }
}

@propertyWrapper
public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}

@MainActor
@propertyWrapper
public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public init(_ type: Delegate.Type = Delegate.self) {}
    public var wrappedValue: Delegate { fatalError() }
}
#endif

#if MODULE_UserNotifications
@_exported import Foundation

public enum UNAuthorizationStatus {
    case notDetermined, denied, authorized, provisional
    #if PLATFORM_iOS || PLATFORM_visionOS
    case ephemeral
    #endif
}

public enum UNNotificationSetting { case notSupported, disabled, enabled }

public enum UNAlertStyle { case none, banner, alert }

public enum UNShowPreviewsSetting { case always, whenAuthenticated, never }

open class UNNotificationSettings {
    public var authorizationStatus: UNAuthorizationStatus { fatalError() }
    #if !PLATFORM_watchOS
    public var badgeSetting: UNNotificationSetting { fatalError() }
    #endif
    #if !PLATFORM_tvOS
    public var soundSetting: UNNotificationSetting { fatalError() }
    public var alertSetting: UNNotificationSetting { fatalError() }
    public var notificationCenterSetting: UNNotificationSetting { fatalError() }
    public var criticalAlertSetting: UNNotificationSetting { fatalError() }
    #endif
    #if !PLATFORM_tvOS && !PLATFORM_watchOS
    public var lockScreenSetting: UNNotificationSetting { fatalError() }
    public var alertStyle: UNAlertStyle { fatalError() }
    public var showPreviewsSetting: UNShowPreviewsSetting { fatalError() }
    public var providesAppNotificationSettings: Bool { fatalError() }
    #endif
    #if PLATFORM_iOS || PLATFORM_visionOS
    public var carPlaySetting: UNNotificationSetting { fatalError() }
    public var announcementSetting: UNNotificationSetting { fatalError() }
    #endif
}

open class UNUserNotificationCenter {
    open class func current() -> UNUserNotificationCenter { fatalError() }
    open func notificationSettings() async -> UNNotificationSettings { fatalError() }
}

#if !PLATFORM_tvOS
open class UNNotificationContent: NSObject {
    open var userInfo: [AnyHashable: Any] { fatalError() }
}

open class UNMutableNotificationContent: UNNotificationContent {
    open var subtitle: String {
        get { fatalError() }
        set {}
    }
}

open class UNNotificationRequest: NSObject {
    open var content: UNNotificationContent { fatalError() }
}

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}
#endif
#endif

#if MODULE_Security
public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32

public let kSecClass: CFString = ""
public let kSecClassGenericPassword: CFString = ""
public let kSecAttrService: CFString = ""
public let kSecAttrAccount: CFString = ""
public let kSecAttrAccessible: CFString = ""
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = ""
public let kSecUseDataProtectionKeychain: CFString = ""
public let kSecReturnData: CFString = ""
public let kSecValueData: CFString = ""
public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25_300

// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    fatalError()
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    fatalError()
}

// Members of Foundation that Linux does not have.
extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { fatalError() }
}

#if !PLATFORM_macOS
extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}
#endif
#endif

#if MODULE_CryptoKit
public struct SymmetricKey: Sendable {
    public init(data: some ContiguousBytes) {}
}

public enum AES {
    public enum GCM {
        public struct Nonce: Sendable {}

        public struct SealedBox: Sendable {
            public let combined: Data?
            public init(combined: some DataProtocol) throws { fatalError() }
        }

        public static func seal(
            _ message: some DataProtocol, using key: SymmetricKey, nonce: Nonce? = nil
        ) throws -> SealedBox { fatalError() }

        public static func open(_ sealedBox: SealedBox, using key: SymmetricKey) throws -> Data { fatalError() }
    }
}
#endif

#if MODULE_Network
public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }

    public let status: Status
}

public final class NWPathMonitor {
    public init() {}
    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
#endif

#if MODULE_BackgroundTasks
open class BGTaskRequest: NSObject {
    open var earliestBeginDate: Date?
}

open class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) {}
}

open class BGTaskScheduler: NSObject {
    open class var shared: BGTaskScheduler { fatalError() }
    open func submit(_ taskRequest: BGTaskRequest) throws {}
}
#endif

#if MODULE_os
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
    public init(initialState: State) where State: Sendable { fatalError() }

    public func withLock<R: Sendable>(_ body: @Sendable (inout State) throws -> R) rethrows -> R { fatalError() }
}
#endif

#if MODULE_ActivityKit
@_exported import Foundation

public protocol ActivityAttributes: Decodable, Encodable {
    associatedtype ContentState: Decodable, Encodable, Hashable
}

public enum ActivityState: Sendable { case active, pending, ended, dismissed, stale }

/// A sequence of ActivityKit. Apple's are structs of their own.
public struct ActivitySequence<Element>: AsyncSequence {
    public struct Iterator: AsyncIteratorProtocol {
        public mutating func next() async -> Element? { nil }
    }

    public func makeAsyncIterator() -> Iterator { Iterator() }
}

/// As in Apple's SDK, it is not Sendable.
public class Activity<Attributes: ActivityAttributes>: Identifiable {
    public static var activities: [Activity<Attributes>] { fatalError() }
    public static var activityUpdates: ActivitySequence<Activity<Attributes>> { fatalError() }
    public static var pushToStartToken: Data? { fatalError() }
    public static var pushToStartTokenUpdates: ActivitySequence<Data> { fatalError() }

    public final let id = ""
    public var attributes: Attributes { fatalError() }
    public var pushTokenUpdates: ActivitySequence<Data> { fatalError() }
    public var activityStateUpdates: ActivitySequence<ActivityState> { fatalError() }
}
#endif
