import Runtime

/// What a drill is told.
struct DrillOptions: Sendable {
    var scenario: Scenario
    /// One unit of time of the scenario.
    var seconds = 12
    /// Reads a second.
    var rate = 200
    var accounts = 400
    var seed: UInt64 = 1
    var bounds = Bounds()
    var gateways: [String] = []
    var operations: [String] = []
    var simulator = ""
    var key = ""
    var app = "demo"
    var control: StackControl?
    var isQuiet = false
}
