import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { createCheckpoints } from "../../src/exec/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../src/exec/checkpoints/checkpoints.ts"
import { fc } from "../support/property.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { directoryContents } from "../support/directory-contents.ts"

const signal = new AbortController().signal

function open(home: TemporaryHome, maxSnapshots = 100): Checkpoints {
  return createCheckpoints({
    home: home.path,
    userHome: home.userHome,
    initialDirectory: home.workdir,
    workdir: () => home.workdir,
    sessionId: () => "session",
    path: process.env["PATH"] ?? "",
    settings: {
      enabled: true,
      maxSnapshots,
      maxTotalMb: 500,
      maxFileMb: 10,
      autoPrune: false,
      retentionDays: 7,
      deleteOrphans: true,
      minIntervalHours: 24,
    },
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
  })
}

/** Creates a repository with commits, a changed index, a stash, filters, nested repositories, and hooks that leave a trace. */
function makeRepository(home: TemporaryHome): void {
  const script = `
    git init -q . && git config user.name t && git config user.email t@t && git config core.autocrlf true
    printf '*.txt filter=upper text\\nsecret.md\\n' > .gitattributes; printf 'ignored-dir/\\n*.tmp\\n' > .gitignore
    git config filter.upper.clean 'tr a-z A-Z'; git config filter.upper.smudge 'tr A-Z a-z'
    printf 'one\\r\\ntwo\\r\\n' > crlf.txt; echo base > base; git add . && git commit -qm first && git branch other
    echo stashed > base; git stash -q; echo staged > base; git add base; echo worktree > base
    mkdir -p vendor/lib && git init -q vendor/lib && echo inner > vendor/lib/inner && git -C vendor/lib add inner
    git -C vendor/lib -c user.name=n -c user.email=n commit -qm inner; mkdir linked && echo gitdir: /nowhere > linked/.git; echo x > linked/x
    for hook in pre-commit post-checkout post-index-change reference-transaction; do
      printf '#!/bin/sh\\ntouch ${home.userHome}/hook-ran\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook
    done`
  execFileSync("sh", ["-ec", script], {
    cwd: home.workdir,
    env: { ...home.env, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: "ignore",
  })
}

const NAMES = [
  "a",
  "b.txt",
  "dir",
  "dir/c",
  "dir/deep/d",
  "ignored-dir/e",
  "x.tmp",
  "sub/f",
  "naïve ü",
  "new\nline",
  "-dash",
  "sub",
  "vendor/lib/f",
]

const name = fc.constantFrom(...NAMES)
const operation = fc.oneof(
  fc.record({ kind: fc.constant("write" as const), name, bytes: fc.uint8Array({ maxLength: 40 }) }),
  fc.record({
    kind: fc.constant("chmod" as const),
    name,
    mode: fc.constantFrom(0o600, 0o640, 0o644, 0o755, 0o700, 0o4755, 0o2770, 0o1777),
  }),
  fc.record({
    kind: fc.constant("shell" as const),
    name,
    other: name,
    // $1 and $2 are two paths.
    script: fc.constantFrom(
      'mkdir -p "$(dirname "$1")"; printf "more\\r\\n" >> "$1"',
      'mv "$1" "$2"',
      'cp -a "$1" "$2"',
      'rm -rf "$1"',
      'ln -s "$2" "$1"',
      'ln -sfn /nowhere/at/all "$1"',
      'ln "$1" "$2"',
      'rm -rf "$1"; mkdir -p "$1"',
      'mkdir -p "$1/empty/below"',
      'rm -rf "$1"; ln -s dir "$1"',
      'printf x > "$(printf "latin-\\344-\\377")"; rm -f a',
      'sed -i s/e/E/ "$1"',
      'truncate -s 100000 "$1"',
      'chmod 555 "$1"',
    ),
  }),
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** Some operations do not fit the current tree: they then fail, possibly half-way, as an agent's commands do. */
function perform(step: Operation, home: TemporaryHome): void {
  const cwd = home.workdir
  try {
    if (step.kind === "write") {
      writeFileSync(join(cwd, step.name), step.bytes)
    } else if (step.kind === "chmod") chmodSync(join(cwd, step.name), step.mode | 0o600)
    else
      spawnSync("sh", ["-c", step.script, "sh", `./${step.name}`, `./${step.other}`], {
        cwd,
        env: home.env,
        stdio: "ignore",
        timeout: 10_000,
      })
  } catch {
    // The file does not exist.
  }
}

test("after random changes, a rollback to any turn restores that tree and leaves the user's repository untouched", async () => {
  const steps = fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), async (turns, choices) => {
      await using home = await temporaryHome()
      makeRepository(home)
      const checkpoints = open(home)
      const seen: ReturnType<typeof directoryContents>[] = []
      for (const [index, turn] of turns.entries()) {
        seen.push(tree(home))
        checkpoints.beginTurn(String(index))
        await checkpoints.beforeChange({ reason: `turn ${index}`, signal })
        for (const step of turn) {
          perform(step, home)
          await checkpoints.beforeChange({ reason: "the same turn", signal })
        }
      }
      const repository = directoryContents(join(home.workdir, ".git"))
      for (let round = 0; round < 2; round += 1) {
        const snapshots = await checkpoints.list({ signal })
        const chosen = snapshots[(choices.next().value ?? 0) % snapshots.length]
        if (chosen === undefined) throw new Error("there is no checkpoint")
        const before = tree(home)
        const restored = await checkpoints.restore(chosen.hash, { signal })
        if (!restored.ok) throw new Error(restored.error)
        expect(restored.value.notRestored).toEqual([])
        const turn = Number(chosen.turn ?? -1)
        if (turn >= 0) expect(tree(home)).toEqual(seen[turn])
        const undone = await checkpoints.restore(restored.value.undoHash, { signal })
        expect(undone.ok && undone.value.notRestored).toEqual([])
        expect(tree(home)).toEqual(before)
        const again = await checkpoints.restore(chosen.hash, { signal })
        expect(again.ok).toBe(true)
      }
      expect(directoryContents(join(home.workdir, ".git"))).toEqual(repository)
      expect(directoryContents(home.userHome, [".hermes"])[`/hook-ran`]).toBeUndefined()
    }),
    {
      numRuns: Number(process.env["CHECKPOINT_RUNS"] ?? 15),
      interruptAfterTimeLimit: 100_000,
      markInterruptAsFailure: true,
    },
  )
}, 120_000)

function tree(home: TemporaryHome): ReturnType<typeof directoryContents> {
  return directoryContents(home.workdir, [".git"])
}
