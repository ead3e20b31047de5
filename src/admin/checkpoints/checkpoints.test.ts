import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createTestHomeContext, type TestHomeContext } from "../../../test/support/home-context.ts"
import { createShadowStore } from "../../exec/checkpoints/shadow-store.ts"
import {
  checkpointRoot,
  checkpointStatus,
  clearCheckpoints,
  diffCheckpoint,
  findLegacyCheckpoints,
} from "./checkpoints.ts"
import { listCheckpoints, pruneCheckpoints, removeLegacyCheckpoints, restoreCheckpoint } from "./checkpoints.ts"

const signal = new AbortController().signal

/** Creates a project with one snapshot, and changes a file after it. */
async function createProject(context: TestHomeContext): Promise<{ readonly root: string; readonly hash: string }> {
  const root = join(context.directory, "project")
  mkdirSync(root)
  writeFileSync(join(root, "package.json"), "{}\n")
  writeFileSync(join(root, "a.txt"), "old\n")
  const path = context.environment.get("PATH") ?? ""
  const { home, clock } = context
  const store = createShadowStore({ home: home.path, path, maxSnapshots: 20, maxFileMb: 10, clock })
  const { hash } = await store.snapshot(root, { reason: "before write_file a.txt" }, signal)
  writeFileSync(join(root, "a.txt"), "new\n")
  return { root, hash }
}

test("lists, compares and restores the snapshots of the project that contains a directory", async () => {
  using context = createTestHomeContext()
  const { root, hash } = await createProject(context)
  mkdirSync(join(root, "src"))
  expect(checkpointRoot(context, join(root, "src"))).toEqual({ ok: true, value: root })
  expect(checkpointRoot(context, join(root, "nope"))).toMatchObject({ ok: false, error: { kind: "invalid" } })
  expect(await listCheckpoints(context, root, { limit: 5, signal })).toMatchObject([
    { hash, reason: "before write_file a.txt" },
  ])
  expect(await diffCheckpoint(context, root, { hash, file: undefined, signal })).toMatchObject({
    ok: true,
    value: { files: ["a.txt"], text: expect.stringContaining("-old\n+new\n") },
  })
  const restored = await restoreCheckpoint(context, root, { hash, file: "a.txt", signal })
  expect(restored).toMatchObject({ ok: true, value: { written: ["a.txt"], removed: [], notRestored: [] } })
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("old\n")
  const undoHash = restored.ok ? restored.value.undoHash : ""
  expect((await restoreCheckpoint(context, root, { hash: undoHash, file: undefined, signal })).ok).toBe(true)
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n")
})

test.each([
  { hash: "zz", file: undefined },
  { hash: "abcdef12", file: undefined },
  { hash: "HASH", file: "../x" },
  { hash: "HASH", file: "/etc/passwd" },
  { hash: "HASH", file: ".git/config" },
  { hash: "HASH", file: "missing" },
])("refuses %j and changes nothing", async (selection) => {
  using context = createTestHomeContext()
  const { root, hash } = await createProject(context)
  const options = { ...selection, hash: selection.hash.replace("HASH", hash), signal }
  expect(await restoreCheckpoint(context, root, options)).toMatchObject({ ok: false, error: { kind: "failed" } })
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n")
})

test("status, prune and clear work on all projects", async () => {
  using context = createTestHomeContext()
  expect(await checkpointStatus(context, signal)).toMatchObject({ bytes: 0, projects: [] })
  const { root } = await createProject(context)
  expect(await checkpointStatus(context, signal)).toMatchObject({ projects: [{ workdir: root, snapshots: 1 }] })
  const options = { retentionDays: undefined, maxTotalMb: undefined, deleteOrphans: true, signal }
  expect(await pruneCheckpoints(context, options)).toMatchObject({ snapshots: 0, projects: 0 })
  expect(await clearCheckpoints(context, signal)).toBeGreaterThan(0)
  expect(await checkpointStatus(context, signal)).toMatchObject({ bytes: 0, projects: [] })
})

test("removes repositories of an older layout and nothing else", async () => {
  using context = createTestHomeContext({
    "checkpoints/0123456789abcdef/HEAD": "ref: refs/heads/main\n",
    "checkpoints/20260101_000000_abcdef/x": "other",
  })
  const legacy = await findLegacyCheckpoints(context)
  expect(legacy).toEqual({ paths: [context.home.file("checkpoints", "0123456789abcdef")], bytes: 21 })
  removeLegacyCheckpoints(legacy)
  expect((await findLegacyCheckpoints(context)).paths).toEqual([])
  expect(existsSync(context.home.file("checkpoints", "20260101_000000_abcdef", "x"))).toBe(true)
})
