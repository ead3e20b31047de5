import { expect, test } from "vitest"
import { isWithin, readRefusal, writeRefusal } from "./file-floor.ts"

const directories = { userHome: "/home/a", hermesHome: "/home/a/.hermes/profiles/work", hermesRoot: "/home/a/.hermes" }

test.each([
  ["/w/.env", true],
  ["/w/.ENV", true],
  ["/w/.env.production", true],
  ["/w/.envrc", true],
  ["/w/.env.example", false],
  ["/w/env", false],
  ["/home/a/.hermes/auth.json", true],
  ["/home/a/.hermes/profiles/work/auth.json", true],
  ["/home/a/.hermes/profiles/other/auth.json", true],
  ["/home/a/.hermes/mcp-tokens/x/y.json", true],
  ["/home/a/.hermes/mcp-tokens-old", false],
  ["/home/a/.hermes/auth/google_oauth.json", true],
  ["/home/a/.hermes/skills/.hub/index", true],
  ["/home/a/.hermes/config.yaml", false],
  ["/w/auth.json", false],
  ["/home/a/.ssh/id_ed25519", true],
  ["/home/a/.ssh/keys/deploy", true],
  ["/home/a/.ssh/id_ed25519.pub", false],
  ["/home/a/.ssh/config", false],
  ["/home/a/.ssh/known_hosts.old", false],
  ["/home/a/.ssh", false],
  ["/home/a/.aws/credentials", true],
  ["/home/a/.aws/config", false],
  ["/home/a/.netrc", true],
  ["/home/a/.config/gh/hosts.yml", true],
  ["/home/b/.ssh/id_ed25519", false],
])("reading %s is refused: %s", (path, refused) => {
  expect(readRefusal(path, directories) !== undefined).toBe(refused)
})

test.each([
  ["/home/a/.ssh/authorized_keys", true],
  ["/home/a/.ssh", true],
  ["/home/a/.sshx", false],
  ["/home/a/.config/gh/hosts.yml", true],
  ["/home/a/.npmrc", true],
  ["/etc/hosts", true],
  ["/etcetera", false],
  ["/boot/x", true],
  ["/private/var/db/x", true],
  ["/private/var/folders/t/x", false],
  ["/run/docker.sock", true],
  ["/home/a/.hermes/config.yaml", true],
  ["/home/a/.hermes/profiles/work/permissions.yaml", true],
  ["/home/a/.hermes/profiles/other/.env", true],
  ["/home/a/.hermes/state.db-wal", true],
  ["/home/a/.hermes/lsp/node_modules/.bin/tsc", true],
  ["/home/a/.hermes/skills/x/SKILL.md", false],
  ["/w/config.yaml", false],
  ["/w/src/main.ts", false],
])("writing %s is refused: %s", (path, refused) => {
  expect(writeRefusal(path, directories) !== undefined).toBe(refused)
})

test("isWithin compares whole path components, even at the root", () => {
  expect([isWithin("/a/b", "/a"), isWithin("/ab", "/a"), isWithin("/a", "/a"), isWithin("/x", "/")]).toEqual([
    true,
    false,
    true,
    true,
  ])
})

test("a write root confines writing, but not reading", () => {
  const confined = {
    userHome: "/home/a",
    hermesHome: "/home/a/.hermes",
    hermesRoot: "/home/a/.hermes",
    writeRoot: "/w",
  }
  expect(writeRefusal("/w/x/y", confined)).toBeUndefined()
  expect(writeRefusal("/wx/y", confined)).toMatch(/outside \/w/)
  expect(readRefusal("/other", confined)).toBeUndefined()
})
