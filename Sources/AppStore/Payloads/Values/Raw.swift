/// One of Apple's vocabularies: an enum of the values that are known.
package protocol Vocabulary: RawRepresentable, CaseIterable, Sendable, Hashable where RawValue: Hashable & Sendable {}

/// A value as Apple sent it, and what it means if this version knows it: `payload.offerType?.known == .winBack`.
///
/// Apple adds values without notice, so that an unknown one is no mistake and must survive (invariant 2).
package struct Raw<Known: Vocabulary>: Sendable, Hashable, CustomStringConvertible {
    package let raw: Known.RawValue

    package init(raw: Known.RawValue) { self.raw = raw }
    package init(_ known: Known) { raw = known.rawValue }

    package var known: Known? { Known(rawValue: raw) }
    package var description: String { "\(raw)" }
}

extension Raw: ExpressibleByUnicodeScalarLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
    ExpressibleByStringLiteral
where Known.RawValue == String {
    package init(stringLiteral raw: String) { self.init(raw: raw) }
}

extension Raw: ExpressibleByIntegerLiteral where Known.RawValue == Int64 {
    package init(integerLiteral raw: Int64) { self.init(raw: raw) }
}
