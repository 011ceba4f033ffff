import PushRegistry
import StrictJSON

extension JSONValue {
    /// The string within the limit of the domain; nil for `null` and after a fault. In documents that refuse `null`,
    /// the document has already added a fault for it.
    func text() -> String? {
        kind == .null ? nil : string(scalarsMax: Device.textScalarsMax)
    }

    func refuse(_ reason: InvalidValue) {
        refuse(JSONFault.Code(rawValue: reason.code), reason.detail)
    }

    /// The parsed value; nil after a fault.
    func parsed<Value>(_ parse: () throws(InvalidValue) -> Value) -> Value? {
        do throws(InvalidValue) {
            return try parse()
        } catch {
            refuse(error)
            return nil
        }
    }
}

extension JSONObject {
    func refuse(member name: StaticString, _ reason: InvalidValue) {
        refuse(member: name, JSONFault.Code(rawValue: reason.code), reason.detail)
    }

    /// The parsed value; nil after a fault at the member.
    func parsed<Value>(_ name: StaticString, _ parse: () throws(InvalidValue) -> Value) -> Value? {
        do throws(InvalidValue) {
            return try parse()
        } catch {
            refuse(member: name, error)
            return nil
        }
    }
}
