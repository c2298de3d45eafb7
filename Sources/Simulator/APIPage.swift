internal import AppStore
internal import HTTP

/// Up to twenty transactions, and how to ask for those that follow.
struct APIPage: Sendable {
    let transactions: [StoreTransaction]
    let revision: String
    let hasMore: Bool

    static let size = 20

    /// `matching` holds the oldest change first. Going up, the last page's revision stays good: it later finds what
    /// has changed since.
    init(_ matching: [StoreTransaction], _ revision: APIRevision?, _ isDescending: Bool) {
        let border = revision?.change ?? (isDescending ? .max : 0)
        let left =
            isDescending ? matching.reversed().filter { $0.change < border } : matching.filter { $0.change > border }
        transactions = Array(left.prefix(Self.size))
        hasMore = left.count > transactions.count
        let change = transactions.last?.change ?? revision?.change ?? 0
        self.revision = APIRevision(change: change, isDescending: isDescending).text
    }
}

/// Where a page ended. Apple's revisions say nothing to their readers either.
struct APIRevision: Sendable {
    let change: UInt64
    let isDescending: Bool

    init(change: UInt64, isDescending: Bool) {
        self.change = change
        self.isDescending = isDescending
    }

    /// The request's, if it has one; it must be of a page that went the same way.
    init?(_ head: HTTPRequestHead, isDescending: Bool) throws(APIError) {
        guard !head.queryValues("revision").isEmpty else { return nil }
        guard let text = head.queryValue("revision"), let bytes = Base64URL.decode(text),
            let plain = String(validating: bytes, as: UTF8.self), plain.hasPrefix(isDescending ? "before:" : "after:"),
            let change = plain.split(separator: ":").last.flatMap({ UInt64($0) })
        else { throw .invalidRevision }
        self.init(change: change, isDescending: isDescending)
    }

    var text: String { Base64URL.encode(Array("\(isDescending ? "before" : "after"):\(change)".utf8)) }
}
