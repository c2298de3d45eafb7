/// What an app decides about the gaps that Apple leaves.
package struct EvaluationPolicy: Sendable, Hashable {
    /// How long a paid period that should have renewed is still served while there is no word from Apple (invariant 5).
    package var holdBound: Duration

    package init(holdBound: Duration = .seconds(24 * 60 * 60)) { self.holdBound = holdBound }

    package static let standard = EvaluationPolicy()
}
