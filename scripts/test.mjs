// Runs all checks: format, lint, types, layers, dead code and generated files, then all tests against the built command. The last
// line is "N passed, N failed"; skipped tests are listed before it, with their reasons. `--quick` omits the end-to-end tests.
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const quick = process.argv.includes("--quick")
const scratch = mkdtempSync(join(tmpdir(), "hermes-test-"))
const report = join(scratch, "vitest.json")
const skipped = join(scratch, "skipped")
let passed = 0
let failed = 0

/** Programs that tests run, and the Debian packages that contain them. */
const PROGRAMS = {
  zsh: "zsh",
  fish: "fish",
  git: "git",
  bwrap: "bubblewrap",
  socat: "socat",
  rg: "ripgrep",
  podman: "podman",
  runc: "runc",
  catatonit: "catatonit",
  busybox: "busybox-static",
  sshd: "openssh-server",
  ssh: "openssh-client",
  python3: "python3",
}

/** With fewer modules the layer check has not read the sources and must not pass. */
const MIN_MODULES = 150

const checks = [
  ["format", ["node_modules/oxfmt/bin/oxfmt", "--check", "."]],
  ["lint", ["node_modules/oxlint/bin/oxlint", "--type-aware", "--deny-warnings"]],
  ["types", ["node_modules/typescript/bin/tsc", "--noEmit"]],
  [
    "layers",
    ["node_modules/dependency-cruiser/bin/dependency-cruiser.mjs", "src", "--config", ".dependency-cruiser.cjs"],
  ],
  ["dead code", ["node_modules/knip/bin/knip.js", "--no-progress"]],
  ["tool manifest", ["scripts/generate-tool-manifest.ts", "--check"]],
  ["bundled skills", ["scripts/generate-bundled-skills.ts", "--check"]],
  ["reference pages", ["scripts/generate-reference.ts", "--check"]],
]

ensurePackages()
for (const [name, command] of checks) {
  const { code, output } = await run(command, { quiet: true })
  const modules = /\((\d+) modules/.exec(output)?.[1]
  const succeeded = code === 0 && (name !== "layers" || Number(modules) >= MIN_MODULES)
  if (succeeded) passed += 1
  else failed += 1
  process.stdout.write(`${succeeded ? "✓" : "✗"} ${name}\n`)
  if (!succeeded) process.stdout.write(`${output.trim()}\n`)
}

const filters = quick ? ["--exclude", "test/e2e/**"] : []
await run(
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile=${report}`,
    "--reporter=./scripts/skipped-tests-reporter.ts",
    ...filters,
  ],
  { quiet: false, environment: { HERMES_SKIPPED_TESTS: skipped } },
)
try {
  const counts = JSON.parse(readFileSync(report, "utf8"))
  passed += counts.numPassedTests
  // A file that cannot be loaded has no failed test, but the run has failed.
  failed += counts.numFailedTests + (counts.success === false && counts.numFailedTests === 0 ? 1 : 0)
  for (const { message, name, status } of counts.testResults) {
    if (status === "failed" && message !== "") process.stdout.write(`\n${name}\n${message}\n`)
  }
} catch (error) {
  failed += 1
  process.stdout.write(`The tests wrote no report: ${error.message}\n`)
}
const skippedTests = readSkipped()
if (skippedTests.length > 0) {
  process.stdout.write(`\n${skippedTests.length} skipped:\n${skippedTests.map((line) => `  ${line}\n`).join("")}`)
}
rmSync(scratch, { recursive: true, force: true })
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 ? 0 : 1)

/**
 * Installs missing programs that tests run, if this is Debian and the user is root. Elsewhere those tests are skipped with a
 * reason.
 */
function ensurePackages() {
  const missing = Object.entries(PROGRAMS)
    .filter(
      ([program]) => spawnSync("sh", ["-c", `command -v ${program} || test -x /usr/sbin/${program}`]).status !== 0,
    )
    .map(([, debian]) => debian)
  const isDebian = process.getuid?.() === 0 && spawnSync("sh", ["-c", "command -v apt-get"]).status === 0
  if (missing.length === 0 || !isDebian) return
  process.stdout.write(`installing ${missing.join(", ")} for the tests\n`)
  const options = { stdio: "ignore", timeout: 240_000, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } }
  const install = ["install", "-y", "-q", "--no-install-recommends", ...missing]
  if (spawnSync("apt-get", install, options).status === 0) return
  if (spawnSync("apt-get", ["update", "-q"], options).status === 0) spawnSync("apt-get", install, options)
}

/** One line per skipped test. */
function readSkipped() {
  try {
    return readFileSync(skipped, "utf8").split("\n").filter(Boolean)
  } catch {
    // The tests did not run to their end, which has been reported.
    return []
  }
}

function run(command, { quiet, environment = {} }) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, command, {
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
      env: { ...process.env, ...environment },
    })
    let output = ""
    child.stdout?.on("data", (chunk) => (output += chunk))
    child.stderr?.on("data", (chunk) => (output += chunk))
    child.on("close", (code) => resolve({ code, output }))
  })
}
