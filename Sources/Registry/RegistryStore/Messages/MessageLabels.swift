import Foundation
import PushRegistry

/// Labels in the form of the column `message.labels`: an array of pairs, because an object would lose their order.
extension MessageContent {
    var labelsText: String {
        let pairs = labels.map { [$0.name, $0.value] }
        // Encoding texts never fails.
        return (try? JSONEncoder().encode(pairs)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    static func labels(_ text: String) throws -> [Label] {
        try JSONDecoder().decode([[String]].self, from: Data(text.utf8)).compactMap { pair in
            pair.count == 2 ? Label(name: pair[0], value: pair[1]) : nil
        }
    }
}
