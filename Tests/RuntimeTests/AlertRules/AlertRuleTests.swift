import Runtime
import TestSupport
import Testing

/// The rules for Prometheus speak of metrics that the program exports, and of their labels: a metric that is renamed would
/// otherwise leave an alert that never fires, and nobody would know.
@Suite struct AlertRuleTests {
    private let rules: [RuleFile.Rule]
    private let source: SourceMetrics
    /// What Prometheus adds to every series.
    private static let added: Set<String> = ["instance", "job"]

    init() async throws {
        rules = try RuleFile().rules
        source = try await SourceMetrics.ofTheProgram.value
    }

    /// The labels of a metric, of one of a histogram's series, or of what a rule records; nil if there is no such metric.
    private func labels(of metric: String) -> Set<String>? {
        if metric == "up" { return Self.added }
        if let known = source.metrics[metric] {
            return known.kind == .histogram ? nil : known.labels.union(Self.added)
        }
        for suffix in ["_bucket", "_sum", "_count"] where metric.hasSuffix(suffix) {
            guard let known = source.metrics[String(metric.dropLast(suffix.utf8.count))], known.kind == .histogram
            else { continue }
            return known.labels.union(Self.added).union(suffix == "_bucket" ? ["le"] : [])
        }
        guard let recorded = rules.first(where: { $0.name == metric && !$0.isAlert }) else { return nil }
        return recorded.selectors.first.flatMap { labels(of: $0.metric) }
    }

    @Test func everyMetricOfTheSourceIsUnderstood() {
        #expect(source.puzzles == [])
        #expect(source.metrics.count > 110)
    }

    @Test func everyMetricInARuleIsExported() {
        #expect(rules.count > 60)
        for rule in rules {
            #expect(!rule.selectors.isEmpty, "\(rule.name)")
            for selector in rule.selectors {
                #expect(labels(of: selector.metric) != nil, "\(rule.name): \(selector.metric)")
            }
        }
    }

    @Test func everyLabelInARuleIsOneOfItsMetrics() {
        for rule in rules {
            for selector in rule.selectors {
                let known = labels(of: selector.metric) ?? []
                for matcher in selector.matchers {
                    #expect(known.contains(matcher.label), "\(rule.name): \(selector.metric) has no \(matcher.label)")
                }
                // What is joined with a histogram's quantile need not have its bounds.
                let isJoined = !known.contains("le") && rule.selectors.contains { $0.metric.hasSuffix("_bucket") }
                let missing = rule.grouping.subtracting(known).subtracting(isJoined ? ["le"] : [])
                #expect(missing == [], "\(rule.name): \(selector.metric)")
            }
        }
    }

    @Test func everyValueOfALabelInARuleIsOneThatTheSourceKnows() {
        for rule in rules {
            for (label, value) in rule.selectors.flatMap(\.matchers) where label != "job" {
                for word in value.split(separator: "|") {
                    #expect(source.words.contains(String(word)), "\(rule.name): \(label)=\(value)")
                }
            }
        }
    }

    @Test func whatPeopleReadNamesOnlyLabelsThatAreLeft() {
        for rule in rules where rule.isAlert {
            let isGrouped = rule.expression.contains("by (")
            let isOne = ["min(", "max(", "sum(", "absent("].contains { rule.expression.hasPrefix($0) }
            let left =
                isGrouped
                ? rule.grouping : isOne ? [] : rule.selectors.first.flatMap { labels(of: $0.metric) } ?? []
            let missing = rule.shown.subtracting(left)
            #expect(missing == [], "\(rule.name)")
        }
    }

    @Test func everyAlertSaysHowBadItIsAndWhatToDoAndIsTested() throws {
        let tests = try ["holdfast", "holdfast-days"].map {
            try File.text(at: "\(Command.packageFolder)/ops/prometheus/\($0).test.yml")
        }.joined()
        let alerts = rules.filter(\.isAlert)
        #expect(Set(alerts.map(\.name)).count == alerts.count)
        for alert in alerts {
            check(["critical", "warning", "info"].contains(alert.severity), "\(alert.name): \(alert.severity)")
            #expect(!alert.summary.isEmpty && !alert.action.isEmpty, "\(alert.name)")
            check(tests.contains("alertname=\"\(alert.name)\""), "\(alert.name) is not tested")
        }
    }

    @Test func theDocumentsNameOnlyMetricsThatAreExported() throws {
        let text = try ["README.md", "docs/operating.md"].map { name in
            try File.text(at: "\(Command.packageFolder)/\(name)")
        }.joined(separator: "\n")
        for range in text.ranges(of: "`holdfast_") {
            let name = "holdfast_" + text[range.upperBound...].prefix { $0.isLetter || $0 == "_" }
            if name.hasSuffix("_") {
                // All whose names begin so.
                check(source.metrics.keys.contains { $0.hasPrefix(name) }, "\(name)")
            } else {
                #expect(source.metrics[name] != nil, "\(name)")
            }
        }
    }

    @Test func aMetricThatIsRenamedOrLosesALabelIsNoticed() throws {
        let source = SourceMetrics(
            source: """
                metrics.counter(
                    "holdfast_a_total", "Says (so.", labels: ["app": app, "kind": "\\(kind)"])
                let labels: Metrics.Labels = ["part": part]
                metrics.gauge("holdfast_b", "B.", labels: labels)
                metrics.histogram("holdfast_c_seconds", "C.", buckets: [1, 2])
                func gauge(_ name: String, _ help: String) -> Gauge {
                    metrics.gauge(name, help, labels: ["store": store])
                }
                gauge("holdfast_d", "D.").set(1)
                """)
        #expect(source.metrics["holdfast_a_total"]?.labels == ["app", "kind"])
        #expect(source.metrics["holdfast_b"]?.labels == ["part"])
        #expect(source.metrics["holdfast_d"]?.labels == ["store"])
        #expect(source.metrics["holdfast_c_seconds"] == SourceMetrics.Metric(kind: .histogram, labels: []))
        let file = RuleFile(
            text: """
                  - alert: A
                    expr: |
                      sum by (app, le) (rate(holdfast_a_total{kind!="x", app="y"}[5m])) > 1
                        and on (app) up{job="z"} == 0
                    labels: { severity: info }
                    annotations:
                      summary: '{{ $labels.app }}'
                """)
        let rule = try #require(file.rules.first)
        try #require(rule.selectors.count == 2)
        #expect(rule.selectors.map(\.metric) == ["holdfast_a_total", "up"])
        #expect(rule.selectors[0].matchers.map(\.label) == ["kind", "app"])
        #expect(rule.selectors[0].matchers.map(\.value) == ["x", "y"])
        #expect(rule.grouping == ["app", "le"])
        #expect(rule.shown == ["app"])
        #expect(rule.severity == "info")
    }
}
