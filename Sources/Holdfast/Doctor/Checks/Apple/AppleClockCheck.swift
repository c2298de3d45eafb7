import AppStore
import Runtime

/// Whether this machine's clock agrees with Apple's: tokens and signatures are judged by it.
struct AppleClockCheck: Check {
    let name = "clock, apple"
    let accesses: [AppleAccess]

    func examine() async -> Finding {
        for access in accesses {
            _ = await access.refusal.answer()
            guard let bounds = access.client.skewBounds else { continue }
            return ClockSkew(earliest: bounds.lowerBound, latest: bounds.upperBound)
                .finding(comparedWith: "Apple's", warningAt: .seconds(4), wrongAt: .seconds(30))
        }
        guard Machine.clockIsSynchronized else {
            return .warning(
                "nothing keeps this machine's clock right (NTP), and Apple's cannot be seen", "timedatectl set-ntp true"
            )
        }
        return .notChecked(accesses.isEmpty ? "Apple cannot be asked without a key" : "Apple does not answer")
    }
}
