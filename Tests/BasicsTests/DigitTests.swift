import Basics
import Foundation
import Testing

@Suite("Digits equal those of the standard library")
struct DigitTests {
    @Test(arguments: [0, 1, 9, 10, 99, 100, 12_345, -1, -10, Int.max, Int.min])
    func decimalDigits(_ number: Int) {
        var bytes: [UInt8] = [0x20]
        bytes.appendDecimal(number)
        #expect(String(decoding: bytes, as: UTF8.self) == " \(number)")
    }

    @Test(arguments: [(7, 3, "007"), (0, 1, "0"), (0, 2, "00"), (1_234, 2, "1234")])
    func decimalDigitsWithZeros(_ number: UInt, _ digits: Int, _ text: String) {
        var bytes: [UInt8] = []
        bytes.appendDecimal(number, digitsMin: digits)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test(arguments: 0...70)
    func base64Digits(_ count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 250) }
        let standard = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        #expect(String(base64URL: bytes) == standard.replacing("=", with: ""))
    }

    @Test func hexadecimalDigitsOfANumber_areTwoAByte() {
        #expect(String(hex: UInt32(0xBEEF)) == "0000beef")
        #expect(String(hex: UInt8(7)) == "07")
    }

    @Test(arguments: [0, 1, 15, 16, 255, 256, 0xDEAD_BEEF, 0x0123_4567_89AB_CDEF, UInt.max])
    func hexadecimalDigits(_ number: UInt) {
        var (short, all): ([UInt8], [UInt8]) = ([], [])
        short.appendShortHex(number)
        all.appendHex(number)
        let text = String(number, radix: 16)
        #expect(String(decoding: short, as: UTF8.self) == text)
        #expect(String(decoding: all, as: UTF8.self) == String(repeating: "0", count: 16 - text.count) + text)
        #expect(String(hex: number).utf8.elementsEqual(all))
        #expect(String(hex: [0x00, 0x0F, 0xA5]) == "000fa5")
    }

    @Test func hexadecimalDigitsAreRead_inBothCases() {
        for byte in UInt8.min...UInt8.max {
            let text = String(UnicodeScalar(byte))
            let isDigit = byte < 0x80 && text.allSatisfy(\.isHexDigit)
            #expect(byte.hexDigitValue == (isDigit ? UInt8(text, radix: 16) : nil))
        }
    }
}
