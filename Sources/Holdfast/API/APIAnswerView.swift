import AppStore
import JSON

/// An answer of Apple's for people, with what is signed in it verified and decoded.
struct APIAnswerView {
    private let answer: JSONValue
    private let inspect: (String) -> VerificationReport

    init(_ answer: JSONValue, inspect: @escaping (String) -> VerificationReport) {
        self.answer = answer
        self.inspect = inspect
    }

    /// Indented, signed texts replaced by what they say.
    var text: String {
        var lines: [String] = []
        write(answer, name: nil, depth: 0, to: &lines)
        return lines.joined(separator: "\n")
    }

    /// Apple's bytes and, beside them, a report on each signed text.
    func json(raw: [UInt8]) -> String {
        var signed: [(place: String, text: String)] = []
        collect(answer, at: "", into: &signed)
        var json = JSONWriter()
        json.beginObject()
        json.key("answer")
        json.fragment(raw)
        json.array("signed", signed) { json, item in
            json.beginObject()
            json.member("place", item.place)
            json.key("report")
            json.fragment(Array(inspect(item.text).json.utf8))
            json.endObject()
        }
        json.endObject()
        return json.text
    }

    /// Whether it looks like a compact JWS with a JSON header.
    private static func isSigned(_ text: String) -> Bool {
        text.hasPrefix("eyJ") && text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2
    }

    private static func withoutSigned(_ value: JSONValue) -> JSONValue {
        guard let object = value.object else { return value }
        var kept = JSONObject()
        for member in object.members {
            if let text = member.value.string, isSigned(text) { continue }
            kept[member.key] = member.value
        }
        return .object(kept)
    }

    private func collect(_ value: JSONValue, at place: String, into found: inout [(place: String, text: String)]) {
        switch value {
        case .string(let text) where Self.isSigned(text): found.append((place, text))
        case .array(let elements):
            for (index, element) in elements.enumerated() { collect(element, at: "\(place)[\(index)]", into: &found) }
        case .object(let object):
            for member in object.members {
                collect(member.value, at: place.isEmpty ? member.key : "\(place).\(member.key)", into: &found)
            }
        default: break
        }
    }

    private func write(_ value: JSONValue, name: String?, depth: Int, to lines: inout [String]) {
        let indent = String(repeating: "  ", count: depth)
        let lead = indent + (name.map { "\($0): " } ?? "")
        switch value {
        case .object(let object) where !object.members.isEmpty:
            if let name { lines.append("\(indent)\(name):") }
            for member in object.members {
                write(member.value, name: member.key, depth: depth + (name == nil ? 0 : 1), to: &lines)
            }
        case .array(let elements) where !elements.isEmpty:
            lines.append("\(indent)\(name ?? ""):")
            for (index, element) in elements.enumerated() {
                write(element, name: "[\(index)]", depth: depth + 1, to: &lines)
            }
        case .string(let text) where Self.isSigned(text):
            write(inspect(text), lead: lead, depth: depth, to: &lines)
        default:
            var json = JSONWriter()
            json.value(value)
            lines.append(lead + json.text)
        }
    }

    private func write(_ report: VerificationReport, lead: String, depth: Int, to lines: inout [String]) {
        for part in report.parts {
            let what = part.kind?.phrase ?? "something signed"
            let place = part.place.map { "\($0), " } ?? ""
            let verdict =
                part.problems.isEmpty
                ? "\(part.signer == .apple ? "Apple's signature" : "signed under the given root"), verified"
                : "NOT TO BE TRUSTED: " + part.problems.map(\.sentence).joined(separator: "; ")
            lines.append("\(lead)\(place)\(what), \(verdict)")
            for member in part.payload?.object?.members ?? [] {
                // What is signed within comes as a part of its own.
                write(Self.withoutSigned(member.value), name: member.key, depth: depth + 1, to: &lines)
            }
        }
    }
}
