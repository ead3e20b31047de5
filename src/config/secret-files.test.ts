import { chmodSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { environmentFrom } from "./environment.ts"
import { resolveHome } from "./home.ts"
import { restrictSecretFile, exposedSecretFiles } from "./secret-files.ts"

test("finds and restricts secret files that others can read", async () => {
  const loose = [".env", "config.yaml", "state.db-wal", "pastes/p.txt", "sessions/request_dump_1_2.json"]
  const others = ["auth.json", "SOUL.md", "sessions/saved.json"]
  await using fixture = await temporaryHome({
    files: Object.fromEntries([...loose, ...others].map((name) => [name, "x"])),
  })
  for (const name of [...loose, ...others]) chmodSync(join(fixture.path, name), name === "auth.json" ? 0o600 : 0o644)
  const home = resolveHome(environmentFrom(fixture.env))
  const found = exposedSecretFiles(home)
  expect(new Map(found.map(({ path, mode }) => [path, mode]))).toEqual(
    new Map(loose.map((name) => [join(fixture.path, name), 0o644])),
  )
  for (const file of found) restrictSecretFile(file)
  expect(exposedSecretFiles(home)).toEqual([])
})
