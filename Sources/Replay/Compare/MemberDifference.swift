package import JSON

/// One member of one fact in which two records differ; or, without a member, a fact that only one of them has.
///
/// Read from canonical JSON and nothing else, so that it also compares what another version of this program wrote.
package struct MemberDifference: Sendable, Hashable {
    /// Such as `transaction 2000000123456789`, `renewal`, `status`, `owner` or `claim <customer>`.
    package let fact: String
    package let member: String?
    /// Here; nil where it is absent.
    package let mine: JSONValue?
    /// In the other one.
    package let theirs: JSONValue?

    package init(fact: String, member: String?, mine: JSONValue?, theirs: JSONValue?) {
        self.fact = fact
        self.member = member
        self.mine = mine
        self.theirs = theirs
    }

    /// What the members of a record stand for.
    private static let names = ["t": "transaction", "r": "renewal", "s": "status", "c": "owner", "k": "claim"]

    /// All differences between two objects whose members are facts, or lists of facts. The member `v` is the version of
    /// the form, which is not a fact.
    package static func between(_ mine: JSONValue, _ theirs: JSONValue) -> [MemberDifference] {
        var differences: [MemberDifference] = []
        for key in union(mine.object?.keys ?? [], theirs.object?.keys ?? []) where key != "v" {
            let name = names[key] ?? key
            let (left, right) = (mine[key], theirs[key])
            if left?.array != nil || right?.array != nil {
                let (lefts, rights) = (facts(left?.array ?? [], key), facts(right?.array ?? [], key))
                for id in union(lefts.map(\.id), rights.map(\.id)) {
                    differences += compare(
                        "\(name) \(id)", lefts.first { $0.id == id }?.fact, rights.first { $0.id == id }?.fact)
                }
            } else {
                differences += compare(name, left, right)
            }
        }
        return differences
    }

    private static func compare(_ fact: String, _ mine: JSONValue?, _ theirs: JSONValue?) -> [MemberDifference] {
        guard mine != theirs else { return [] }
        guard let left = mine?.object, let right = theirs?.object else {
            return [MemberDifference(fact: fact, member: nil, mine: mine, theirs: theirs)]
        }
        return union(left.keys, right.keys).filter { left[$0] != right[$0] }
            .map { MemberDifference(fact: fact, member: $0, mine: left[$0], theirs: right[$0]) }
    }

    /// A fact by what makes it that fact: its id; and, since a transaction is kept by purchase date and id, the date
    /// where an id comes twice.
    private static func facts(_ list: [JSONValue], _ key: String) -> [(id: String, fact: JSONValue)] {
        let ids = list.map { $0["id"]?.string ?? $0.text }
        return zip(ids, list).map { id, fact in
            guard ids.count(where: { $0 == id }) > 1, let from = fact["from"]?.number else { return (id, fact) }
            return ("\(id) from \(from.text)", fact)
        }
    }

    private static func union(_ a: [String], _ b: [String]) -> [String] {
        a + b.filter { !a.contains($0) }
    }
}

extension JSONValue {
    /// As compact JSON.
    package var text: String {
        var json = JSONWriter()
        json.value(self)
        return json.text
    }
}
