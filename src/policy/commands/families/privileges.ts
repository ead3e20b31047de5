import { CODE, PERSON, PRIVILEGES } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { SCRIPT_RUNNERS, SHELLS } from "./foreign-code.ts"

/** Sudo's own options, before the command that it starts. */
export function sudoOptions(call: Invocation): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < call.words.length; index += 1) {
    const text = call.words[index]?.text ?? ""
    if (text === "--" || !text.startsWith("-") || text.length < 2) break
    found.push(text)
    if (/^-[a-zA-Z]*[ughpCrtTUDR]$/u.test(text) || VALUED_LONG.has(text)) index += 1
  }
  return found
}

const VALUED_LONG = new Set(
  "--user --group --host --prompt --close-from --role --type --command-timeout --other-user --chdir --chroot".split(
    " ",
  ),
)

/** The letters of a word of packed short options; what follows an option with a value belongs to the value. */
function shortLetters(option: string): string {
  return option.startsWith("--") ? "" : option.slice(1).replace(/[ughpCrtTUDR].*$/u, "")
}

export const readsPassword = (call: Invocation): boolean =>
  sudoOptions(call).some((option) => option === "--stdin" || shortLetters(option).includes("S"))

const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const isContainerRun = (call: Invocation): boolean =>
  call.operands.some(({ text }) => /^(?:run|create|exec|up)$/u.test(text))
const mounts = (call: Invocation): readonly string[] =>
  optionValues(call, "-v", "--volume", "--mount", "--device").map(({ text }) => text)
const CONTAINER_PROGRAMS = ["docker", "podman", "nerdctl", "lxc", "lxc-start", "buildah"]
const exposesHost = (path: string, home: string): boolean => {
  const source = /(?:^|,)(?:source|src)=([^,]+)/u.exec(path)?.[1] ?? path.split(":")[0] ?? ""
  return (
    /^\/(?:|etc|root|home|usr|var|boot|proc|sys|dev|var\/run|run)\/?$/u.test(source) ||
    /\/(?:docker|podman|containerd|crio?)\.sock$/u.test(source) ||
    source.replace(/\/+$/u, "") === home ||
    /\/\.(?:ssh|aws|gnupg|kube|config)\/?$/u.test(source) ||
    /^\/dev\/(?:sd|nvme|mem|kmsg)/u.test(source)
  )
}

/** `sudo bash`, `sudo -u root env zsh -l`: no command and no script follows. */
const isForAnotherUser = ({ command: { wrappers } }: Invocation): boolean =>
  wrappers.some(({ program }) => /^(?:sudo(?:-rs)?|doas|pkexec|run0|gosu|su-exec|setpriv)$/u.test(program))
const LOGIN_OPTION = /^(?:-[ilsE]+|--(?:login|norc|noprofile|posix|restricted|interactive))$/u

export const PRIVILEGE_RULES: readonly CommandRule[] = [
  {
    key: "sudo with privilege flag (stdin/askpass/shell/list)",
    programs: ["sudo"],
    when: (call) => sudoOptions(call).some((option) => /^(?:-[SsAa]|--(?:stdin|askpass|shell))$/u.test(option)),
    does: "asks sudo for a shell or for another way to read the password",
    effects: PRIVILEGES,
  },
  {
    key: "sudo with combined-flag privilege escalation",
    programs: ["sudo"],
    when: (call) =>
      sudoOptions(call).some((option) => shortLetters(option).length > 1 && /[sa]/iu.test(shortLetters(option))),
    does: "asks sudo for a shell or for another way to read the password",
    effects: PRIVILEGES,
  },
  {
    key: "set-user-id bit or capability",
    programs: ["chmod", "setcap", "install"],
    when: (call) =>
      call.program === "setcap"
        ? call.operands.length > 0
        : says(call, /^(?:--mode=|-m)?(?:[2467][0-7]{3}|[ugoa]*[+=][rwxXt]*s[rwxXst]*)$/u),
    does: "lets a program run with the rights of its owner",
    effects: PRIVILEGES,
  },
  {
    key: "change users, groups or passwords",
    programs:
      "visudo usermod useradd adduser userdel deluser groupadd groupmod groupdel gpasswd passwd chpasswd chsh chfn vipw vigr dscl pw pam-auth-update newusers".split(
        " ",
      ),
    when: (call) => !(call.program === "passwd" && hasFlag(call, /^-S$|^--status$/u)),
    does: "changes accounts of the machine",
    effects: PRIVILEGES,
  },
  {
    key: "container with access to the host",
    programs: CONTAINER_PROGRAMS,
    when: (call) =>
      isContainerRun(call) &&
      (says(
        call,
        /^--(?:privileged|pid=host|network=host|net=host|userns=host|ipc=host|uts=host|cgroupns=host|cap-add(?:=.*)?|security-opt(?:=.*)?)$/u,
      ) ||
        optionValues(call, "--pid", "--userns", "--ipc", "--uts").some(({ text }) => text === "host") ||
        mounts(call).some((mount) => exposesHost(mount, call.facts.userHome))),
    does: "gives a container access to the machine",
    effects: PERSON,
  },
  {
    key: "enter another namespace or root directory",
    programs: ["nsenter", "chroot", "unshare", "machinectl", "lxc-attach", "pivot_root", "systemd-nspawn"],
    when: (call) => call.program !== "unshare" || !hasFlag(call, /^--help$/u),
    does: "leaves the file system or the processes that it was started in",
    effects: PRIVILEGES,
  },
  {
    key: "root shell",
    programs: ["pkexec", "run0", "gksudo", "kdesudo", "doas", "capsh"],
    when: (call) =>
      call.program === "doas" ? hasFlag(call, /^-[a-z]*s/u) : call.program !== "capsh" || call.words.length > 0,
    does: "runs a program as another user",
    effects: PRIVILEGES,
  },
  {
    key: "root shell",
    programs: ["su", "runuser"],
    when: (call) =>
      !hasFlag(call, /^--(?:help|version|command|session-command)|^-[a-z]*[chV]/u) &&
      !call.words.some(({ text }) => text === "--"),
    does: "starts a shell of another user",
    effects: PRIVILEGES,
  },
  {
    key: "root shell",
    programs: [...SHELLS, ...SCRIPT_RUNNERS],
    when: (call) =>
      !call.isWrapper && isForAnotherUser(call) && call.words.every(({ text }) => LOGIN_OPTION.test(text)),
    does: "starts a shell of another user, and what is typed there is not judged",
    effects: PRIVILEGES,
  },
  {
    key: "access to a container socket",
    programs: ["*"],
    when: (call) =>
      call.command.argv.some(({ text }) => /\/(?:docker|podman|containerd)\.sock\b/u.test(text)) &&
      !CONTAINER_PROGRAMS.includes(call.program),
    does: "talks to the container service, which can do anything as root",
    effects: PERSON,
  },
  {
    key: "debug another process",
    programs: ["gdb", "strace", "ltrace", "ptrace", "gcore", "reptyr", "lldb"],
    when: (call) =>
      ["ptrace", "reptyr", "gcore"].includes(call.program)
        ? call.operands.length > 0
        : hasFlag(call, /^-p|^--pid|^--attach/u),
    does: "reads or changes a running process",
    effects: CODE,
  },
]
