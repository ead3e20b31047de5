import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** Runs git as a person would, without any settings of the machine, and gives what it prints. */
export function git(directory: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", directory, ...args], {
    env: { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
  }).trimEnd()
}

/** A repository with one commit of these files; `root` is made. */
export function makeRepository(root: string, files: Readonly<Record<string, string>> = { "a.txt": "one\n" }): string {
  mkdirSync(root, { recursive: true })
  git(root, "init", "--quiet", "--initial-branch=main")
  git(root, "config", "user.name", "Test")
  git(root, "config", "user.email", "test@example.com")
  for (const [name, text] of Object.entries(files)) writeIn(root, name, text)
  git(root, "add", "--all")
  git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
  return root
}

/** Hooks that would leave a trace, each under its own name in `traces`. */
export function plantHooks(root: string, traces: string): void {
  mkdirSync(traces, { recursive: true })
  for (const hook of HOOKS) {
    const file = join(root, ".git", "hooks", hook)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\ntouch "${join(traces, hook)}"\n`, { mode: 0o755 })
  }
}

const HOOKS = ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"]

export function writeIn(root: string, name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  writeFileSync(join(root, name), text)
}
