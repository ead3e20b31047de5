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
import { pictureOf } from "./checkpoints-picture.ts"

const signal = new AbortController().signal

function open(place: TemporaryHome, maxSnapshots = 100): Checkpoints {
  return createCheckpoints({
    home: place.path,
    userHome: place.userHome,
    startedIn: place.workdir,
    workdir: () => place.workdir,
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

/** A repository with everything a person may have: commits, a changed index, a stash, hooks that would leave a trace. */
function makeRepository(place: TemporaryHome): void {
  const script = `
    git init -q . && git config user.name t && git config user.email t@t && git config core.autocrlf true
    printf '*.txt filter=upper text\\nsecret.md\\n' > .gitattributes; printf 'ignored-dir/\\n*.tmp\\n' > .gitignore
    git config filter.upper.clean 'tr a-z A-Z'; git config filter.upper.smudge 'tr A-Z a-z'
    printf 'one\\r\\ntwo\\r\\n' > crlf.txt; echo base > base; git add . && git commit -qm first && git branch other
    echo stashed > base; git stash -q; echo staged > base; git add base; echo worktree > base
    mkdir -p vendor/lib && git init -q vendor/lib && echo inner > vendor/lib/inner && git -C vendor/lib add inner
    git -C vendor/lib -c user.name=n -c user.email=n commit -qm inner; mkdir linked && echo gitdir: /nowhere > linked/.git; echo x > linked/x
    for hook in pre-commit post-checkout post-index-change reference-transaction; do
      printf '#!/bin/sh\\ntouch ${place.userHome}/hook-ran\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook
    done`
  execFileSync("sh", ["-ec", script], {
    cwd: place.workdir,
    env: { ...place.env, GIT_CONFIG_NOSYSTEM: "1" },
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

/** Some make no sense where the tree stands: as with an agent, they then fail and leave what they leave. */
function perform(step: Operation, place: TemporaryHome): void {
  const cwd = place.workdir
  try {
    if (step.kind === "write") {
      writeFileSync(join(cwd, step.name), step.bytes)
    } else if (step.kind === "chmod") chmodSync(join(cwd, step.name), step.mode | 0o600)
    else
      spawnSync("sh", ["-c", step.script, "sh", `./${step.name}`, `./${step.other}`], {
        cwd,
        env: place.env,
        stdio: "ignore",
        timeout: 10_000,
      })
  } catch {
    // Nothing was there.
  }
}

test("whatever happened, a rollback to any step gives that tree, and the person's repository is as it was", async () => {
  const steps = fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), async (turns, choices) => {
      await using place = await temporaryHome()
      makeRepository(place)
      const checkpoints = open(place)
      const seen: ReturnType<typeof pictureOf>[] = []
      for (const [index, turn] of turns.entries()) {
        seen.push(tree(place))
        checkpoints.beginTurn(String(index))
        await checkpoints.beforeChange({ reason: `turn ${index}`, signal })
        for (const step of turn) {
          perform(step, place)
          await checkpoints.beforeChange({ reason: "the same turn", signal })
        }
      }
      const repository = pictureOf(join(place.workdir, ".git"))
      for (let round = 0; round < 2; round += 1) {
        const known = await checkpoints.list({ signal })
        const wanted = known[(choices.next().value ?? 0) % known.length]
        if (wanted === undefined) throw new Error("there is no checkpoint")
        const before = tree(place)
        const restored = await checkpoints.restore(wanted.hash, { signal })
        if (!restored.ok) throw new Error(restored.error)
        expect(restored.value.kept).toEqual([])
        const turn = Number(wanted.turn ?? -1)
        if (turn >= 0) expect(tree(place)).toEqual(seen[turn])
        const undone = await checkpoints.restore(restored.value.before, { signal })
        expect(undone.ok && undone.value.kept).toEqual([])
        expect(tree(place)).toEqual(before)
        const again = await checkpoints.restore(wanted.hash, { signal })
        expect(again.ok).toBe(true)
      }
      expect(pictureOf(join(place.workdir, ".git"))).toEqual(repository)
      expect(pictureOf(place.userHome, [".hermes"])[`/hook-ran`]).toBeUndefined()
    }),
    {
      numRuns: Number(process.env["CHECKPOINT_RUNS"] ?? 15),
      interruptAfterTimeLimit: 100_000,
      markInterruptAsFailure: true,
    },
  )
}, 120_000)

function tree(place: TemporaryHome): ReturnType<typeof pictureOf> {
  return pictureOf(place.workdir, [".git"])
}
