import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** Runs git without the configuration of this machine and returns its output. */
export function git(directory: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", directory, ...args], {
    env: { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
  }).trimEnd()
}

/** Creates `root` and in it a repository with one commit of these files. */
export function createRepository(root: string, files: Readonly<Record<string, string>> = { "a.txt": "one\n" }): string {
  mkdirSync(root, { recursive: true })
  git(root, "init", "--quiet", "--initial-branch=main")
  git(root, "config", "user.name", "Test")
  git(root, "config", "user.email", "test@example.com")
  for (const [name, text] of Object.entries(files)) writeFileIn(root, name, text)
  git(root, "add", "--all")
  git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
  return root
}

/** Installs hooks that each create a file with their name in `traces`, so a test can tell which of them ran. */
export function installTracingHooks(root: string, traces: string): void {
  mkdirSync(traces, { recursive: true })
  for (const hook of HOOKS) {
    const file = join(root, ".git", "hooks", hook)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\ntouch "${join(traces, hook)}"\n`, { mode: 0o755 })
  }
}

const HOOKS = ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"]

export function writeFileIn(root: string, name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  writeFileSync(join(root, name), text)
}
