import { expect, test } from "vitest"
import { crossProfileRefusal } from "./cross-profile.ts"

const directories = {
  userHome: "/home/a",
  hermesRoot: "/home/a/.hermes",
  hermesHome: "/home/a/.hermes/profiles/work",
  profile: "work",
}

test.each([
  ["/home/a/.hermes/profiles/work/skills/x", undefined],
  ["/home/a/.hermes/profiles/home/skills/x", /the profile home, and the active profile is work.*cross_profile/],
  ["/home/a/.hermes/profiles/home/memories/MEMORY.md", /profile home/],
  ["/home/a/.hermes/profiles/home/notes.md", undefined],
  ["/home/a/.hermes/cron/jobs.json", /the profile default/],
  ["/home/a/.hermes/logs/x", undefined],
  ["/home/a/project/skills/x", undefined],
  ["/home/a/.hermes/sandboxes/docker/t1/home/.hermes/skills/x", /a sandbox's copy/],
  ["/root/.hermes/skills/x", /a container's copy/],
  ["/root/.hermesx/skills/x", undefined],
])("%s", (path, refusal) => {
  const found = crossProfileRefusal(path, directories)
  if (refusal === undefined) expect(found).toBeUndefined()
  else expect(found).toMatch(refusal)
})

test("a home in /root is not a copy of itself, and without a known home only sandboxes are recognised", () => {
  const own = { ...directories, hermesRoot: "/root/.hermes", hermesHome: "/root/.hermes", profile: "default" }
  expect(crossProfileRefusal("/root/.hermes/skills/x", own)).toBeUndefined()
  expect(crossProfileRefusal("/root/.hermes/skills/x", undefined)).toBeUndefined()
  expect(crossProfileRefusal("/x/sandboxes/ssh/t/home/.hermes/a", undefined)).toMatch(/sandbox/)
})
