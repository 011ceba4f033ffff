import ArgumentParser
import Foundation
import PushRegistry

extension String {
    /// The text itself, or the contents of the file named behind an `@`.
    func orContentsOfFile() throws -> String {
        guard hasPrefix("@") else { return self }
        let file = String(dropFirst())
        guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else {
            throw ValidationError("\(file) cannot be read.")
        }
        return text
    }

    func asAppID() throws -> AppID {
        do {
            return try AppID(self)
        } catch {
            throw ValidationError("\(self) is not an app id: \(error.detail)")
        }
    }

    func asRole() throws -> Role {
        guard let role = Role(rawValue: self) else {
            let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(self) is not a role. The roles are \(names).")
        }
        return role
    }
}
