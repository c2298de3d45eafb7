/// What a read is found to be. One table; docs/drills.md repeats it.
///
/// | class | is | wrong |
/// |---|---|---|
/// | `right` | what is true at the answer's instant | |
/// | `behind` | what was true at most `propagation` before | |
/// | `held` | a period that should have renewed is over, there was no word, and it is within `holdBound` of its end | |
/// | `stale` | what was known when news was cut off; from then until recovery, `recovery` after the last mending at most; or, while notifications are lost, what was true at most `found` before (at most `told`, where somebody loses what was known to be paid) | |
/// | `unknownCustomer` | "not known now": Redis is away, and the customer bought nothing that anybody could have heard of | |
/// | `failed` | no answer, or none that can be read; or "not known now" of a customer who was known | yes |
/// | `payerWithoutAccess` | lacks what is paid for, and none of the above explains it | yes |
/// | `nonPayerWithAccess` | has what is not paid for, and none of the above explains it | yes |
/// | `inventedNo` | "has nothing" of a customer of whom nobody could know it, Redis being away | yes |
///
/// Beside it, and whatever the class, `levelUntrue`: level, reason or `asOf` contradict what is broken, or each other.
enum ReadClass: String, Sendable, CaseIterable {
    case right, behind, held, stale, unknownCustomer
    case failed, payerWithoutAccess, nonPayerWithAccess, inventedNo

    var isWrong: Bool {
        switch self {
        case .right, .behind, .held, .stale, .unknownCustomer: false
        case .failed, .payerWithoutAccess, .nonPayerWithAccess, .inventedNo: true
        }
    }

    var words: String {
        switch self {
        case .right: "right"
        case .behind: "behind, within the bound"
        case .held: "held, within the bound"
        case .stale: "stale, could not be known yet"
        case .unknownCustomer: "customer not known now"
        case .failed: "failed"
        case .payerWithoutAccess: "payer without access"
        case .nonPayerWithAccess: "non-payer with access"
        case .inventedNo: "invented no"
        }
    }
}

struct Verdict: Sendable {
    var readClass: ReadClass
    /// Why level, reason or `asOf` cannot be true; nil when they can.
    var levelProblem: String?
    /// For how long what the answer lacks has been true, when it is behind.
    var lag: Duration?
    /// What was said and what is true, when it is wrong.
    var detail: String?

    var isWrong: Bool { readClass.isWrong || levelProblem != nil }
}
