import PushRegistry

/// A fault of a header field, a part of the path or a query parameter.
struct ParameterFault: Error {
    let parameter: String
    let code: String
    let detail: String
}

extension ParameterFault {
    static func header(_ name: String, _ detail: String) -> ParameterFault {
        ParameterFault(parameter: name, code: "invalid-header", detail: detail)
    }

    static func path(_ name: String, _ detail: String) -> ParameterFault {
        ParameterFault(parameter: name, code: "invalid-parameter", detail: detail)
    }

    static func query(_ name: String, _ code: String, _ detail: String) -> ParameterFault {
        ParameterFault(parameter: name, code: code, detail: detail)
    }
}

extension [ParameterFault] {
    /// The parsed value; nil after a fault.
    ///
    /// - Parameter makeFault: returns the fault of an invalid value.
    mutating func parsed<Value>(
        _ parse: () throws(InvalidValue) -> Value, orAdd makeFault: (InvalidValue) -> ParameterFault
    ) -> Value? {
        do throws(InvalidValue) {
            return try parse()
        } catch {
            append(makeFault(error))
            return nil
        }
    }
}
