import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// How an audience divides.
    @Suite("Breakdown")
    struct BreakdownTests {
        @Test func percentagesOfATable_areOfItsRows() async throws {
            try await Console.shared.visit("breakdown") { browser, _ in
                try await browser.choose("region", in: "label select", at: 1)
                try await browser.wait(for: "document.querySelector('.shaded tbody tr')")
                let sums = try await browser.run(
                    """
                    return [...document.querySelectorAll('.shaded tbody tr')].map((row) => Math.round(
                      [...row.querySelectorAll('small')].map((each) => parseFloat(each.textContent))
                        .reduce((sum, each) => sum + each, 0)));
                    """)
                #expect(sums == [100, 100])
                try await browser.wait(forText: "Percentages are of the row.")
            }
        }

        /// Arrow keys choose one option after the other: the field of the first list must not end the way.
        @Test func fieldOfAnotherList_cannotBeChosen() async throws {
            try await Console.shared.visit("breakdown") { browser, _ in
                let disabled = """
                    return [...document.querySelectorAll('label select')].map((select) =>
                      [...select.options].filter((option) => option.disabled).map((option) => option.value));
                    """
                #expect(try await browser.run(disabled) == [[], ["systemName"], ["systemName"]])
                try await browser.choose("region", in: "label select", at: 1)
                #expect(try await browser.run(disabled) == [["region"], ["systemName"], ["systemName", "region"]])
            }
        }
    }
}
