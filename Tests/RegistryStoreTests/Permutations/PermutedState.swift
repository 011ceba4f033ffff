import Basics
import Foundation
import PostgresClient
import PushRegistry

@testable import RegistryStore

/// Outcomes and rows, comparable between executions: without times, and with generations as their ranks.
struct PermutedResult: Hashable, CustomStringConvertible {
    let lines: [String]

    init(_ lines: [String], in world: PermutedWorld) {
        let suffix = "-w\(world.number)"
        let users = Dictionary(
            uniqueKeysWithValues: PermutedWorld.users.map { (String(hex: world.digest(of: $0)), $0) })
        let words: [[String]] = lines.map { line in
            line.split(separator: " ").map { word in
                if let user = users[String(word)] { return user }
                guard let end = word.range(of: suffix) else { return String(word) }
                return String(word[..<end.lowerBound] + word[end.upperBound...])
            }
        }
        var numbers: [String: Set<Int64>] = [:]
        for word in words.joined() {
            if let generation = Self.generation(word) {
                numbers[generation.phone, default: []].insert(generation.number)
            }
        }
        self.init(
            words.map { line in
                line.map { word in
                    guard let (phone, number) = Self.generation(word) else { return word }
                    return "\(phone):#\(numbers[phone, default: []].count { $0 < number })"
                }.joined(separator: " ")
            })
    }

    private static func generation(_ word: String) -> (phone: String, number: Int64)? {
        guard let mark = word.range(of: ":g"), let number = Int64(word[mark.upperBound...]) else { return nil }
        return (String(word[..<mark.lowerBound]), number)
    }

    private init(_ lines: [String]) {
        self.lines = lines.sorted()
    }

    /// Without the marks of R5.
    var unmarked: PermutedResult { PermutedResult(lines.filter { !$0.hasPrefix("replaced") }) }

    var description: String { lines.joined(separator: "\n") }

    /// The lines that only one of both has.
    func differences(from other: PermutedResult) -> [String] {
        lines.filter { !other.lines.contains($0) }.map { "+ \($0)" }
            + other.lines.filter { !lines.contains($0) }.map { "- \($0)" }
    }
}

extension PermutedWorld {
    fileprivate static let users = ["alice", "bob"]

    fileprivate func digest(of user: String) -> [UInt8] { TestStores.sha256(Array(name(user).utf8)) }

    /// One line a row of what the registry keeps about the phones.
    var rows: PostgresStatement {
        let phones = [name("p"), name("q")]
        let sessions = ["s1", "s2", "s3"].map(name)
        let users = Self.users.map(name)
        let digests = Self.users.map(digest)
        return """
            SELECT * FROM (
                SELECT concat_ws(' ', 'installation', install_id, state, CASE
                        WHEN provider = 'apns' THEN convert_from(decode(coalesce(token, '2d'), 'hex'), 'UTF8')
                        ELSE coalesce(token, '-') END, coalesce(user_id, '-'),
                    coalesce(session_id, '-'), install_id || ':g' || generation, install_id || ':g' ||
                    registration_generation, install_id || ':g' || epoch, locale,
                    topic_choices::text, topics::text, session_expires_at IS NOT NULL, registrant IS NULL) AS line
                FROM installation WHERE app_id = 1 AND install_id = ANY (\(phones))
                UNION ALL
                SELECT concat_ws(' ', 'replaced', install_id, 'by', probably_replaced_by) FROM installation
                WHERE app_id = 1 AND install_id = ANY (\(phones)) AND probably_replaced_by IS NOT NULL
                UNION ALL
                SELECT concat_ws(' ', 'typed', install_id, kind) FROM typed_token
                WHERE app_id = 1 AND install_id = ANY (\(phones))
                UNION ALL
                SELECT concat_ws(' ', 'owner', user_id, install_id, coalesce(session_id, '-'), left_at IS NULL)
                FROM installation_owner WHERE app_id = 1 AND install_id = ANY (\(phones))
                UNION ALL
                SELECT concat_ws(' ', 'event', install_id, to_char(row_number() OVER (
                    PARTITION BY install_id ORDER BY position, id), 'FM00'), event, reason,
                    coalesce(user_id, '-'), coalesce(previous_user_id, '-'), state,
                    install_id || ':g' || generation_before, install_id || ':g' || generation_after, topics::text, '')
                FROM token_event WHERE app_id = 1 AND install_id = ANY (\(phones))
                UNION ALL
                SELECT concat_ws(' ', 'event of user', user_id, event, reason, topics::text)
                FROM token_event WHERE app_id = 1 AND install_id IS NULL AND user_id = ANY (\(users))
                UNION ALL
                SELECT concat_ws(' ', 'logout', install_id, encode(user_sha256, 'hex'), session_id)
                FROM installation_logout WHERE app_id = 1 AND install_id = ANY (\(phones))
                UNION ALL
                SELECT concat_ws(' ', 'ended', s.session_id)
                FROM session s LEFT JOIN user_guard u ON u.app_id = 1 AND u.user_sha256 = s.user_sha256
                WHERE s.app_id = 1 AND s.session_id = ANY (\(sessions)) AND (s.ended_at IS NOT NULL
                    OR u.refused_number > s.left_number AND u.refused_number > coalesce(s.kept_number, 0))
                UNION ALL
                SELECT concat_ws(' ', 'user', encode(user_sha256, 'hex'), refused_before IS NOT NULL,
                    topics::text)
                FROM user_guard WHERE app_id = 1 AND user_sha256 = ANY (\(digests))
                    AND (refused_before IS NOT NULL OR topics IS NOT NULL)
                UNION ALL
                SELECT concat_ws(' ', 'snapshots', install_id, count(*))
                FROM settings_snapshot WHERE app_id = 1 AND install_id = ANY (\(phones)) GROUP BY install_id
            ) AS r
            """
    }
}
