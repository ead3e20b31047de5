import { PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Invocation } from "../invocation.ts"

const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))

/** Screen, sound and keyboard of the user, and the keys that only the user can replace. */
export const CAPTURE_RULES: readonly CommandRule[] = [
  {
    key: "record the screen, sound or keyboard",
    programs:
      "scrot gnome-screenshot spectacle grim maim flameshot screencapture arecord parecord pw-record logkeys xev showkey".split(
        " ",
      ),
    when: () => true,
    does: "records what the user sees, says or types",
    effects: PERSON,
  },
  {
    key: "record the screen, sound or keyboard",
    programs: ["ffmpeg", "import", "xinput", "rec", "evtest"],
    when: (call) =>
      call.program === "ffmpeg"
        ? says(call, /^(?:x11grab|avfoundation|alsa|pulse|v4l2|kmsgrab|gdigrab|dshow)$/u)
        : call.program !== "xinput" || says(call, /^test/u),
    does: "records what the user sees, says or types",
    effects: PERSON,
  },
  {
    key: "delete keys",
    programs: ["gpg", "gpg2", "ssh-add", "keytool", "security", "secret-tool"],
    when: (call) => says(call, /^--delete-secret\S*$|^-D$|^-delete$|^delete-\S+$|^clear$/u),
    does: "deletes keys or passwords",
    effects: PERSON,
  },
]
