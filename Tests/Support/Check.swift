package import Testing

/// `#expect` for conditions that contain a closure.
///
/// Swift 6.3.1 miscompiles a closure within `#expect` or `#require` when the macro itself stands in a closure: a later
/// closure of the same shape runs the code of the first one, so that a test passes whatever happens. `ops/test` refuses
/// the combination. This is a plain function and has no such trouble.
package func check(
    _ condition: Bool, _ comment: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation
) {
    guard !condition else { return }
    let comment = comment()
    Issue.record(comment.isEmpty ? "the condition does not hold" : "\(comment)", sourceLocation: sourceLocation)
}
