import AppStore
import JSON
import Runtime

/// An answer of Apple's for people, with what is signed in it verified and decoded.
struct APIAnswerView {
    struct Signed {
        /// Where it stands in the answer, such as `data[0].lastTransactions[0].signedRenewalInfo`.
        let place: String
        let report: VerificationReport
    }

    /// What the answer itself says that does not fit.
    let problems: [String]
    private(set) var signed: [Signed] = []
    private let answer: JSONValue
    private let endpoint: ServerAPIEndpoint
    private var reports: [String: VerificationReport] = [:]

    init(
        _ answer: JSONValue, of endpoint: ServerAPIEndpoint, problems: [String],
        inspect: (String) -> VerificationReport
    ) {
        self.answer = answer
        self.endpoint = endpoint
        self.problems = problems
        collect(answer, at: "", isSigned: false, inspect)
    }

    /// Indented, signed texts replaced by what they say.
    var text: String {
        var lines = problems.map { "NOT TO BE TRUSTED: \($0)" }
        write(answer, name: nil, depth: 0, isSigned: false, to: &lines)
        return lines.map { $0.printable(limit: 4000) }.joined(separator: "\n")
    }

    /// Apple's bytes and, beside them, a report on each signed text.
    func json(raw: [UInt8]) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.key("answer")
        json.fragment(raw)
        json.array("problems", problems) { json, problem in json.string(problem) }
        json.array("signed", signed) { json, item in
            json.beginObject()
            json.member("place", item.place)
            json.key("report")
            json.fragment(Array(item.report.json.utf8))
            json.endObject()
        }
        json.endObject()
        return json.text
    }

    /// Whether it looks like a compact JWS with a JSON header.
    private static func looksSigned(_ text: String) -> Bool {
        text.hasPrefix("eyJ") && text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2
    }

    /// Apple names so what it signs, and lists of that; what stands there and is no JWS is the more to be looked at.
    private static func namesSigned(_ member: String) -> Bool { member.hasPrefix("signed") }

    private mutating func collect(
        _ value: JSONValue, at place: String, isSigned: Bool, _ inspect: (String) -> VerificationReport
    ) {
        switch value {
        case .string(let text) where isSigned || Self.looksSigned(text):
            let report = reports[text] ?? inspect(text)
            reports[text] = report
            signed.append(Signed(place: place, report: report))
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                collect(element, at: "\(place)[\(index)]", isSigned: isSigned, inspect)
            }
        case .object(let object):
            for member in object.members {
                collect(
                    member.value, at: place.isEmpty ? member.key : "\(place).\(member.key)",
                    isSigned: Self.namesSigned(member.key), inspect)
            }
        default: break
        }
    }

    private func write(
        _ value: JSONValue, name: String?, depth: Int, isSigned: Bool, to lines: inout [String]
    ) {
        let indent = String(repeating: "  ", count: depth)
        let lead = indent + (name.map { "\($0): " } ?? "")
        switch value {
        case .object(let object) where !object.members.isEmpty:
            if let name { lines.append("\(indent)\(name):") }
            for member in object.members {
                write(
                    member.value, name: member.key, depth: depth + (name == nil ? 0 : 1),
                    isSigned: Self.namesSigned(member.key), to: &lines)
            }
        case .array(let elements) where !elements.isEmpty:
            lines.append("\(indent)\(name ?? ""):")
            for (index, element) in elements.enumerated() {
                write(element, name: "[\(index)]", depth: depth + 1, isSigned: isSigned, to: &lines)
            }
        case .string(let text):
            if let report = reports[text] { return write(report, lead: lead, depth: depth, to: &lines) }
            lines.append(lead + plain(value, name))
        default: lines.append(lead + plain(value, name))
        }
    }

    /// A member that is not signed, and what it means.
    private func plain(_ value: JSONValue, _ name: String?) -> String {
        if let name, let field = AnswerMember.field(name, value, of: endpoint) { return field.shown }
        var json = JSONWriter()
        json.value(value)
        if name == "sendAttemptResult", let word = value.string {
            let meaning = word == "SUCCESS" ? nil : SendAttemptResult.meanings[word]?.sentence
            return json.text + (meaning.map { "  (\($0))" } ?? "")
        }
        return json.text
    }

    /// As `holdfast verify` shows it, in fewer lines.
    private func write(_ report: VerificationReport, lead: String, depth: Int, to lines: inout [String]) {
        let indent = String(repeating: "  ", count: depth + 1)
        for part in report.parts {
            let what = part.kind?.phrase ?? "something signed"
            let place = part.place.map { "\($0), " } ?? ""
            let verdict =
                part.problems.isEmpty
                ? "\(part.signer == .apple ? "Apple's signature" : "signed under the given root"), verified"
                : "NOT TO BE TRUSTED: " + part.problems.map(\.sentence).joined(separator: "; ")
            lines.append("\(lead)\(place)\(what), \(verdict)")
            lines += part.warnings.map { "\(indent)warning: \($0)" }
            // What is signed within comes as a part of its own.
            lines += part.fields.filter { !Self.looksSigned($0.value) }.map { "\(indent)\($0.name): \($0.shown)" }
            guard part.fields.isEmpty, let payload = part.payload else { continue }
            var json = JSONWriter()
            json.value(payload)
            lines.append("\(indent)\(json.text)")
        }
    }
}
