/** Prints the durations of permission decisions in milliseconds, as JSON: understanding a command, classifying it and comparing it with rules. */
import { decide } from "../../src/policy/decide.ts"
import { commandCall, pathCall, rule, rulesWith } from "../fixtures/policy/policy-call.ts"

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
const ROUNDS = 400
const WARM_UP = 50

export interface DecisionTimes {
  readonly commands: readonly number[]
  readonly files: readonly number[]
}

process.stdout.write(JSON.stringify(await measure(Number(process.argv[2]))))

async function measure(ruleCount: number): Promise<DecisionTimes> {
  const rules = rulesWith("default", [
    {
      name: "home",
      rules: Array.from({ length: ruleCount }, (_, index) => {
        const decision = index % 3 === 0 ? "deny" : index % 3 === 1 ? "ask" : "allow"
        return rule(index % 4 === 0 ? `file:write:area${index}/**` : `terminal:program${index} *`, decision)
      }),
    },
  ])
  const commands: number[] = []
  const files: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const line of COMMANDS) {
      const started = performance.now()
      decide(await commandCall(line), rules)
      if (round >= WARM_UP) commands.push(performance.now() - started)
    }
    const started = performance.now()
    decide(pathCall("write_file", "/w/src/a/b.ts"), rules)
    if (round >= WARM_UP) files.push(performance.now() - started)
  }
  return { commands, files }
}
