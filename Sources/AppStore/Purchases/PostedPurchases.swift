internal import JSON
internal import Runtime

/// What a backend posts for one of its customers: the transactions that a device has, and renewal information beside
/// them, each as Apple signed it.
///
///     {"signedTransactions": ["…", …], "signedRenewalInfos": ["…", …]}
package struct PostedPurchases: Sendable, Hashable {
    /// Of each kind: a device that has more sends the rest in another request.
    package static let maximumCount = 50
    /// Certificates take most of what Apple signs; a real one has about 6 kB.
    package static let maximumBytesOfOne = 64 << 10

    /// Which of the two lists something stands in.
    package enum List: String, Sendable, Hashable, CaseIterable { case signedTransactions, signedRenewalInfos }

    /// Why a body is none of these: the member, and a sentence that says what to do.
    package struct Mistake: Error, Sendable, Hashable {
        package let field: String?
        package let sentence: String
    }

    package private(set) var signedTransactions: [String]
    package private(set) var signedRenewalInfos: [String]

    package init(
        signedTransactions: [String], signedRenewalInfos: [String] = []
    ) throws(Mistake) {
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        for list in List.allCases {
            guard self[list].count <= Self.maximumCount else { throw Self.tooMany(list) }
            for (index, text) in self[list].enumerated() where text.utf8.count > Self.maximumBytesOfOne {
                throw Mistake(
                    field: "\(list.rawValue)[\(index)]",
                    sentence: "It has more than \(Self.maximumBytesOfOne) bytes; send it as Apple signed it.")
            }
        }
    }

    /// Nothing: an operator's claim of a purchase that is known already.
    package static let nothing = PostedPurchases()
    private init() { (signedTransactions, signedRenewalInfos) = ([], []) }

    package subscript(list: List) -> [String] {
        switch list {
        case .signedTransactions: signedTransactions
        case .signedRenewalInfos: signedRenewalInfos
        }
    }

    /// Reads a body; anything but the two lists is a mistake.
    package init(json: [UInt8]) throws(Mistake) {
        var lists: [List: [String]] = [:]
        var mistake: Mistake?
        var reader = JSONReader(json, maximumDepth: 4)
        do {
            try reader.readObject { (reader, key) throws(JSONError) in
                guard let list = List(rawValue: key.description) else {
                    mistake = mistake ?? Self.unknown(key.description)
                    return try reader.skip()
                }
                guard try reader.peek() == .array else {
                    mistake = mistake ?? Mistake(field: list.rawValue, sentence: "It must be a list of texts.")
                    return try reader.skip()
                }
                var texts: [String] = []
                var count = 0
                try reader.readArray { (reader) throws(JSONError) in
                    count += 1
                    // What is too much is read over, and not kept.
                    guard count <= Self.maximumCount, try reader.peek() == .string else {
                        mistake = mistake ?? (count > Self.maximumCount ? Self.tooMany(list) : Self.noText(list, count))
                        return try reader.skip()
                    }
                    texts.append(try reader.readString())
                }
                lists[list] = texts
            }
            try reader.finish()
        } catch {
            throw Mistake(field: nil, sentence: "The body must be a JSON object: \(error).")
        }
        if let mistake { throw mistake }
        guard let transactions = lists[.signedTransactions] else {
            throw Mistake(
                field: List.signedTransactions.rawValue, sentence: "It is missing; it lists what the device has.")
        }
        guard !transactions.isEmpty else {
            throw Mistake(
                field: List.signedTransactions.rawValue,
                sentence: "It must have at least one transaction: renewal information alone names no app.")
        }
        try self.init(signedTransactions: transactions, signedRenewalInfos: lists[.signedRenewalInfos] ?? [])
    }

    private static func unknown(_ name: String) -> Mistake {
        let known = List.allCases.map(\.rawValue)
        let nearest = NearestName.to(String(name.prefix(64)), among: known)
        return Mistake(
            field: String(name.prefix(64)),
            sentence: "There is no such member. "
                + (nearest.map { "Do you mean \($0)?" } ?? "There is: \(known.joined(separator: ", "))."))
    }

    private static func tooMany(_ list: List) -> Mistake {
        Mistake(
            field: list.rawValue,
            sentence: "It may have \(maximumCount) of them; send the rest in further requests.")
    }

    private static func noText(_ list: List, _ count: Int) -> Mistake {
        Mistake(field: "\(list.rawValue)[\(count - 1)]", sentence: "It must be a text, as Apple signed it.")
    }
}
