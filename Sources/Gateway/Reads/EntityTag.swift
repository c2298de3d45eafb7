internal import CacheTier
internal import HTTP

/// Says whether two answers mean the same.
///
/// Weak (`W/`), since `serverTime`, `asOf` and the source differ from answer to answer: it covers the revision, how good
/// the answer is, and every entitlement and subscription in it, so an evaluation that time has changed has another tag
/// though the revision is the same.
enum EntityTag {
    static func of(_ answer: Answer) -> String {
        let stable =
            Array("\(answer.revision) \(answer.level.rawValue) \(answer.reason.rawValue) ".utf8) + answer.fragment
        return "W/\"\(answer.revision)-\(hexadecimal(BearerKey.digest(of: stable).prefix(12)))\""
    }

    /// Whether the caller has it already: `If-None-Match` compares weakly, and `*` matches whatever there is.
    static func matches(_ tag: String, _ headers: HTTPHeaders) -> Bool {
        let opaque = tag.dropFirst(2)
        return headers.all("If-None-Match").contains { value in
            value.split(separator: ",").contains { candidate in
                let candidate = candidate.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                return candidate == "*" || candidate == opaque || candidate == tag
            }
        }
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
