import Foundation

#if canImport(CryptoKit)
import CryptoKit
#endif

/// Encrypts values that may contain a user's credential, with a key in the keychain.
struct Seal: Sendable {
    private static let mark = Data("sealed:".utf8)
    private static let keyBytes = 32

    let keychain: any Keychain
    let encrypt: @Sendable (_ data: Data, _ key: Data) throws -> Data
    let decrypt: @Sendable (_ data: Data, _ key: Data) throws -> Data

    /// - Returns: the data itself if the keychain fails for good.
    /// - Throws: if the keychain cannot be read yet.
    func close(_ data: Data) throws -> Data {
        guard let key = try key() else { return data }
        return Self.mark + (try encrypt(data, key))
    }

    /// - Returns: the data itself if it is not sealed, or its key is lost: then it is damaged.
    /// - Throws: if the keychain cannot be read yet.
    func open(_ data: Data) throws -> Data {
        guard data.starts(with: Self.mark), let key = try key() else { return data }
        return (try? decrypt(Data(data.dropFirst(Self.mark.count)), key)) ?? data
    }

    private func key() throws -> Data? {
        try keychain.item("storageKey") { Data((0..<Self.keyBytes).map { _ in .random(in: .min ... .max) }) }
    }

    #if canImport(CryptoKit) && canImport(Security)
    static let ofSystem: Seal? = Seal(
        keychain: SystemKeychain(),
        encrypt: { data, key in
            guard let box = try AES.GCM.seal(data, using: SymmetricKey(data: key)).combined else {
                throw CocoaError(.fileWriteUnknown)
            }
            return box
        },
        decrypt: { box, key in try AES.GCM.open(AES.GCM.SealedBox(combined: box), using: SymmetricKey(data: key)) })
    #else
    static let ofSystem: Seal? = nil
    #endif
}
