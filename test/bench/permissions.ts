/** The time of a permission decision: understanding a command, classifying it and comparing it with 500 rules. */
import { decide } from "../../src/policy/decide.ts"
import { commandCall, pathCall, rule, rulesWith } from "../fixtures/policy/policy-call.ts"
import type { Measurement, Row } from "./measurement.ts"

const COMMANDS = [
  "ls -la",
  "git status && git diff --stat",
  "npm test -- --run src/policy",
  "cd packages/app && npm run build 2>&1 | tail -20",
  'for f in src/*.ts; do echo "$f"; done',
  "find . -name '*.test.ts' -not -path './node_modules/*' | xargs grep -l describe",
  "cat <<'EOF' > notes.txt\nfirst line\nsecond line\nEOF",
  "docker compose up -d && sleep 2 && curl -s localhost:8080/health",
  "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"x\"])' < data.json",
  "sudo -u postgres psql -c 'select 1'",
  "bash -c 'set -e; make clean; make all' > build.log",
  'git commit -m "$(cat message.txt)"',
]
const RULES = 500
const ROUNDS = 400
const WARM_UP = 50

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

export const permissions: Measurement = {
  name: "permissions",
  run: async () => {
    const rules = rulesWith("default", [
      {
        name: "home",
        rules: Array.from({ length: RULES }, (_, index) => {
          const decision = index % 3 === 0 ? "deny" : index % 3 === 1 ? "ask" : "allow"
          return rule(index % 4 === 0 ? `file:write:area${index}/**` : `terminal:program${index} *`, decision)
        }),
      },
    ])
    const commandTimes: number[] = []
    const fileTimes: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const line of COMMANDS) {
        const started = performance.now()
        decide(await commandCall(line), rules)
        if (round >= WARM_UP) commandTimes.push(performance.now() - started)
      }
      const started = performance.now()
      decide(pathCall("write_file", "/w/src/a/b.ts"), rules)
      if (round >= WARM_UP) fileTimes.push(performance.now() - started)
    }
    const row = (name: string, ours: number, atMost?: number): Row => ({
      name: `permissions: ${name}, ${RULES} rules`,
      unit: "µs",
      ours: ours * 1000,
      ...(atMost === undefined ? {} : { target: { atMost } }),
    })
    return [
      row("a command, median", percentile(commandTimes, 0.5)),
      row("a command, p99", percentile(commandTimes, 0.99), 500),
      row("a file, p99", percentile(fileTimes, 0.99), 500),
    ]
  },
}
