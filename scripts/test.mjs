// Everything a reviewer needs, in one run: format, lint, types, layers, dead code, generated files, then all tests against the
// built command. The last line is "N passed, N failed". `--quick` leaves the end-to-end tests out.
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const quick = process.argv.includes("--quick")
const scratch = mkdtempSync(join(tmpdir(), "hermes-test-"))
const report = join(scratch, "vitest.json")
let passed = 0
let failed = 0

/** Programs that tests drive for real, and the Debian packages that bring them. */
const PROGRAMS = {
  zsh: "zsh",
  fish: "fish",
  git: "git",
  bwrap: "bubblewrap",
  podman: "podman",
  runc: "runc",
  catatonit: "catatonit",
  busybox: "busybox-static",
  sshd: "openssh-server",
  ssh: "openssh-client",
}

/** Enough modules that a silently empty run of the layer check cannot pass for a clean one. */
const LEAST_MODULES = 150

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
  ["reference pages", ["scripts/generate-reference.ts", "--check"]],
]

ensurePackages()
for (const [name, command] of checks) {
  const { code, output } = await run(command, { quiet: true })
  const modules = /\((\d+) modules/.exec(output)?.[1]
  const good = code === 0 && (name !== "layers" || Number(modules) >= LEAST_MODULES)
  if (good) passed += 1
  else failed += 1
  process.stdout.write(`${good ? "✓" : "✗"} ${name}\n`)
  if (!good) process.stdout.write(`${output.trim()}\n`)
}

const only = quick ? ["--exclude", "test/e2e/**"] : []
await run(
  ["node_modules/vitest/vitest.mjs", "run", "--reporter=default", "--reporter=json", `--outputFile=${report}`, ...only],
  { quiet: false },
)
try {
  const counts = JSON.parse(readFileSync(report, "utf8"))
  passed += counts.numPassedTests
  // A file that could not even be loaded has no failed test, but the run has failed all the same.
  failed += counts.numFailedTests + (counts.success === false && counts.numFailedTests === 0 ? 1 : 0)
  for (const { message, name, status } of counts.testResults) {
    if (status === "failed" && message !== "") process.stdout.write(`\n${name}\n${message}\n`)
  }
} catch (error) {
  failed += 1
  process.stdout.write(`The tests gave no report: ${error.message}\n`)
}
rmSync(scratch, { recursive: true, force: true })
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 ? 0 : 1)

/**
 * Some tests drive real programs. Where we may, the missing ones are installed from Debian; elsewhere those tests say why they
 * are skipped.
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
  const quietly = { stdio: "ignore", timeout: 240_000, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } }
  const install = ["install", "-y", "-q", "--no-install-recommends", ...missing]
  if (spawnSync("apt-get", install, quietly).status === 0) return
  if (spawnSync("apt-get", ["update", "-q"], quietly).status === 0) spawnSync("apt-get", install, quietly)
}

function run(command, { quiet }) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, command, {
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    })
    let output = ""
    child.stdout?.on("data", (chunk) => (output += chunk))
    child.stderr?.on("data", (chunk) => (output += chunk))
    child.on("close", (code) => resolve({ code, output }))
  })
}
