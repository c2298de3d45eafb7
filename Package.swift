// swift-tools-version: 6.3
import PackageDescription

/// Every Swift target is held to the same rules: Swift 6, the features that Swift 7 will make the default,
/// and no warning left standing.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// Targets that touch C or raw memory mark every such place `unsafe`.
let strictAboutMemory = strict + [.strictMemorySafety()]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strictAboutMemory)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestSupport"], exclude: exclude, swiftSettings: strict)
}

let package = Package(
    name: "Holdfast",
    products: [.executable(name: "holdfast", targets: ["Holdfast"])],
    targets: [
        // Lower parts first; a target depends only on those above it in this list (ARCHITECTURE.md, "Parts").
        .systemLibrary(name: "CLibraries"),
        library("JSON"),
        library("Time"),
        library("Runtime", ["CLibraries", "JSON", "Time"]),
        library("HTTP", ["CLibraries", "JSON", "Runtime", "Time"]),
        library("Broker", ["CLibraries", "Runtime", "Time"]),
        library("Redis", ["CLibraries", "Time", "Runtime"]),
        library("SQLite", ["CLibraries"]),
        library("EmbeddedStore", ["CLibraries", "Time", "Runtime", "Redis", "SQLite"]),
        library("Entitlements", ["JSON", "Time"]),
        library("AppStore", ["CLibraries", "JSON", "Time", "Runtime", "HTTP", "Entitlements"]),
        library("CacheTier", ["JSON", "Time", "Runtime", "Redis", "SQLite", "Entitlements", "AppStore"]),
        library(
            "Gateway",
            ["CLibraries", "JSON", "Time", "Runtime", "HTTP", "Broker", "Entitlements", "AppStore", "CacheTier"]),
        library(
            "Consumer", ["JSON", "Time", "Runtime", "Broker", "Redis", "Entitlements", "AppStore", "CacheTier"]),
        library(
            "EmbeddedQueue", ["Time", "Runtime", "Redis", "Broker", "EmbeddedStore", "Gateway", "Consumer"]),
        library(
            "Replay",
            [
                "CLibraries", "JSON", "Time", "Runtime", "Broker", "Redis", "Entitlements", "AppStore", "CacheTier",
                "Consumer",
            ]),
        library("Simulator", ["JSON", "Time", "Runtime", "HTTP", "AppStore"]),
        .executableTarget(
            name: "Holdfast",
            dependencies: [
                "Gateway", "Consumer", "Replay", "Simulator", "CacheTier", "AppStore", "Entitlements", "Redis",
                "EmbeddedStore", "EmbeddedQueue",
                "Broker",
                "HTTP", "Runtime", "Time", "JSON",
            ],
            swiftSettings: strict),

        // Fixtures that start real servers on private ports and folders; shipped with nothing.
        .target(
            name: "TestSupport", dependencies: ["CLibraries", "Runtime", "HTTP", "Broker"], path: "Tests/Support",
            swiftSettings: strict),
        // Processes for tests to kill; shipped with nothing.
        .executableTarget(
            name: "SpoolProbe", dependencies: ["Gateway", "Runtime"], path: "Tests/SpoolProbe", swiftSettings: strict),
        .executableTarget(
            name: "SnapshotProbe", dependencies: ["CacheTier", "SQLite", "Time"], path: "Tests/SnapshotProbe",
            swiftSettings: strict),
        tests("JSONTests", ["JSON"]),
        tests("TimeTests", ["Time"]),
        tests("RuntimeTests", ["Runtime"]),
        tests("HTTPTests", ["HTTP", "Runtime", "Time"]),
        tests("BrokerTests", ["Broker", "Runtime", "Time", "JSON"]),
        tests("RedisTests", ["Redis", "Runtime", "Time"]),
        tests("SQLiteTests", ["SQLite"]),
        tests("EmbeddedStoreTests", ["EmbeddedStore", "Redis", "SQLite", "Runtime", "Time"]),
        tests("EntitlementsTests", ["Entitlements", "Runtime", "Time", "JSON"]),
        tests("AppStoreTests", ["AppStore", "Entitlements", "HTTP", "Runtime", "Time", "JSON"], exclude: ["Fixtures"]),
        tests(
            "AppStoreAPITests", ["Simulator", "AppStore", "Entitlements", "HTTP", "Runtime", "Time", "JSON"],
            exclude: ["Fixtures"]),
        tests(
            "CacheTierTests",
            [
                "SnapshotProbe", "CacheTier", "EmbeddedStore", "AppStore", "Redis", "SQLite", "Entitlements", "Runtime",
                "Time", "JSON",
            ]),
        tests(
            "GatewayTests",
            [
                "SpoolProbe", "Simulator", "Gateway", "CacheTier", "AppStore", "Entitlements", "Redis", "Broker",
                "HTTP", "Runtime",
                "Time", "JSON",
            ]),
        tests(
            "ConsumerTests",
            [
                "Simulator", "Gateway", "Consumer", "CacheTier", "AppStore", "Entitlements", "Broker", "HTTP", "Redis",
                "Runtime",
                "Time", "JSON",
            ]),
        tests(
            "ReplayTests",
            [
                "Holdfast", "Replay", "Consumer", "CacheTier", "AppStore", "Entitlements", "Redis", "Broker", "Runtime",
                "Time", "JSON",
            ]),
        // A process for the embedded queue's tests to kill; shipped with nothing.
        .executableTarget(
            name: "QueueProbe", dependencies: ["EmbeddedQueue", "EmbeddedStore", "Broker", "Redis", "Runtime"],
            path: "Tests/QueueProbe", swiftSettings: strict),
        tests(
            "EmbeddedQueueTests",
            [
                "QueueProbe", "EmbeddedQueue", "EmbeddedStore", "CacheTier", "Entitlements", "Gateway", "Consumer",
                "Broker", "Redis", "Runtime",
                "Time",
            ]),
        tests("SimulatorTests", ["Simulator", "AppStore", "Entitlements", "HTTP", "Runtime", "Time", "JSON"]),
        tests(
            "DoctorTests",
            [
                "Holdfast", "Simulator", "CacheTier", "AppStore", "Broker", "Redis", "Entitlements", "HTTP", "Runtime",
                "Time", "JSON",
            ]),
        tests(
            "ProductsTests",
            ["Holdfast", "Consumer", "CacheTier", "Broker", "Redis", "Entitlements", "Runtime", "Time", "JSON"]),
        tests(
            "DrillTests", ["Holdfast", "Simulator", "CacheTier", "HTTP", "Runtime", "Time", "JSON"]),
        tests(
            "SnapshotTests", ["Holdfast", "CacheTier", "Redis", "Entitlements", "Runtime", "Time", "JSON"]),
        tests(
            "ReconcileTests", ["Holdfast", "CacheTier", "AppStore", "Redis", "Entitlements", "Runtime", "Time", "JSON"]),
        tests("LivesTests", ["Simulator", "AppStore", "Entitlements", "Time"]),
        tests(
            "LineTests",
            [
                "Holdfast", "Simulator", "Gateway", "Consumer", "CacheTier", "AppStore", "Entitlements", "Redis",
                "Broker", "HTTP", "Runtime", "Time", "JSON",
            ]),
    ]
)

// What `Benchmarks/` measures; left out of everyday builds.
if Context.environment["HOLDFAST_BENCHMARKS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "HTTPServerBenchmark", dependencies: ["HTTP", "Runtime"], path: "Benchmarks/HTTPServer",
            swiftSettings: strict))
    package.targets.append(
        .executableTarget(
            name: "AppStoreBenchmark", dependencies: ["CLibraries", "AppStore", "Entitlements", "Time"],
            path: "Benchmarks/AppStore", exclude: ["apple.py"], swiftSettings: strict))
    package.targets.append(
        .executableTarget(
            name: "SnapshotBenchmark", dependencies: ["CacheTier", "Redis", "Entitlements", "Runtime", "Time"],
            path: "Benchmarks/Snapshot", swiftSettings: strict))
    package.targets.append(
        .executableTarget(
            name: "DrainBenchmark", dependencies: ["Gateway", "Broker", "Runtime"], path: "Benchmarks/Drain",
            swiftSettings: strict))
}

// Only the targets named here, with what they need: a few of them are built in a fraction of the time (`ops/lives`,
// `ops/mutants`).
if let names = Context.environment["HOLDFAST_ONLY"] {
    var wanted = Set(names.split(separator: ",").map(String.init))
    for target in package.targets.reversed() where wanted.contains(target.name) {
        for case .byNameItem(let name, _) in target.dependencies { wanted.insert(name) }
    }
    package.targets.removeAll { !wanted.contains($0.name) }
    if !wanted.contains("Holdfast") { package.products = [] }
}
