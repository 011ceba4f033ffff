import Basics

/// Random JSON texts in all notations of the grammar.
enum RandomJSON {
    static func text(_ random: inout SeededGenerator, depth: Int = 0) -> String {
        switch Int.random(in: depth > 5 ? 2..<8 : 0..<8, using: &random) {
        case 0: container("{", "}", &random) { member($0, &$1, depth) }
        case 1: container("[", "]", &random) { _, random in text(&random, depth: depth + 1) }
        case 2: number(&random)
        case 3, 4: quoted(string(&random), &random)
        case 5: "true"
        case 6: "false"
        default: "null"
        }
    }

    static func string(_ random: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<12, using: &random) {
            text.unicodeScalars.append(scalar(&random))
        }
        return text
    }

    /// Changes, removes, doubles or inserts one byte.
    static func mutated(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = text
        guard let index = bytes.indices.randomElement(using: &random) else { return bytes }
        let byte =
            Bool.random(using: &random) ? Array("{}[]\",:\\0-+.eEutn \n".utf8).randomElement(using: &random) : nil
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = byte ?? UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(bytes[index], at: index)
        default: bytes.insert(byte ?? UInt8.random(in: 0...255, using: &random), at: index)
        }
        return bytes
    }

    private static func container(
        _ open: String, _ close: String, _ random: inout SeededGenerator,
        _ element: (Int, inout SeededGenerator) -> String
    ) -> String {
        let count = Int.random(in: 0..<6, using: &random)
        var elements: [String] = []
        for ordinal in 0..<count { elements.append(space(&random) + element(ordinal, &random) + space(&random)) }
        return open + (count == 0 ? space(&random) : elements.joined(separator: ",")) + close
    }

    /// The ordinal makes names unique.
    private static func member(_ ordinal: Int, _ random: inout SeededGenerator, _ depth: Int) -> String {
        quoted("\(ordinal)" + string(&random), &random) + space(&random) + ":" + space(&random)
            + text(&random, depth: depth + 1)
    }

    private static func number(_ random: inout SeededGenerator) -> String {
        let sign = Bool.random(using: &random) ? "-" : ""
        let integer = UInt64.random(in: 0...(UInt64.max >> UInt64.random(in: 0..<64, using: &random)), using: &random)
        var text = sign + String(integer)
        if Bool.random(using: &random) { text += ".\(UInt32.random(in: 0...99_999, using: &random))" }
        if Int.random(in: 0..<3, using: &random) == 0 {
            text += ["e", "E"].randomElement(using: &random)! + ["", "+", "-"].randomElement(using: &random)!
            text += String(Int.random(in: 0...250, using: &random))
        }
        return text
    }

    private static func quoted(_ text: String, _ random: inout SeededGenerator) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            if mustEscape || Int.random(in: 0..<8, using: &random) == 0 {
                // Without Basics, which the writer under test uses.
                quoted += String(scalar).utf16.map { "\\u" + String(UInt32($0) + 0x10000, radix: 16).dropFirst() }
                    .joined()
            } else {
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func scalar(_ random: inout SeededGenerator) -> Unicode.Scalar {
        let limits: [UInt32] = [0x7F, 0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF]
        let value = UInt32.random(in: 1...limits.randomElement(using: &random)!, using: &random)
        return Unicode.Scalar(value) ?? "x"
    }

    private static func space(_ random: inout SeededGenerator) -> String {
        ["", "", "", " ", "\n", "\t\r "].randomElement(using: &random)!
    }
}
