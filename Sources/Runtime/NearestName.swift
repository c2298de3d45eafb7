/// Finds what somebody meant who mistyped a name.
package enum NearestName {
    /// The known name that differs from `name` in the fewest letters, if it is near at all.
    package static func to(_ name: String, among known: some Sequence<String>) -> String? {
        let nearest = known.map { (distance: editDistance(name, $0), name: $0) }.min { $0 < $1 }
        guard let nearest, nearest.distance <= max(2, name.count / 3) else { return nil }
        return nearest.name
    }

    /// How many single letters must change to make one name of another (Levenshtein).
    private static func editDistance(_ a: String, _ b: String) -> Int {
        let target = Array(b.utf8)
        var row = Array(0...target.count)
        for (i, letter) in a.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in target.enumerated() {
                let substituted = diagonal + (letter == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[target.count]
    }
}
