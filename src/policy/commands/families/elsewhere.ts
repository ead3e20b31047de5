import { PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, optionValues, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isLoopback, networkHost } from "../network-target.ts"

const first = (call: Invocation): string => subcommands(call)[0] ?? ""
const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const STOPS_MACHINE = /^(?:shutdown|reboot|halt|poweroff)$/u
const DESTROYS = /^(?:mkfs(?:\..+)?|wipefs|shred|killall5|userdel)$/u
/** An ordinary user cannot stop a machine that others use. */
const isRoot = ({ command }: Invocation): boolean =>
  command.remote?.startsWith("root@") === true ||
  command.wrappers.some(({ program }) => /^(?:sudo|doas|su|pkexec|run0)$/u.test(program))
const STOPS_SERVICE = /^(?:stop|restart|disable|mask|poweroff|reboot|halt|kexec)$/u
const ADDRESS = /^https?:\/\//iu

const deletesTree = (call: Invocation): boolean => call.program === "rm" && hasFlag(call, /^-[a-z]*r|^--recursive$/iu)
/** The root, a home, or a directory that the system needs. */
const WHOLE_MACHINE =
  /^(?:\/+\*?|(?:~|\$HOME|\$\{HOME\})\/?\*?|\/+(?:bin|boot|dev|etc|home|lib\w*|opt|root|sbin|srv|usr|var)\/?\*?)$/u

/** What runs on other machines and in clusters: no sandbox on this machine confines it. */
export const ELSEWHERE_RULES: readonly CommandRule[] = [
  {
    key: "recursive delete of root filesystem",
    programs: ["rm"],
    level: "ask_person",
    when: (call) =>
      call.command.source === "remote" && deletesTree(call) && call.operands.some(({ text }) => /^\/+\*?$/u.test(text)),
    does: "deletes everything on another machine",
    effects: PERSON,
    remote: true,
  },
  {
    key: "stop or destroy another machine",
    programs: ["*"],
    level: "ask_person",
    when: (call) =>
      call.command.source === "remote" &&
      ((STOPS_MACHINE.test(call.program) && isRoot(call)) ||
        DESTROYS.test(call.program) ||
        (["systemctl", "service"].includes(call.program) &&
          call.operands.some(({ text }) => STOPS_SERVICE.test(text))) ||
        (["init", "telinit"].includes(call.program) && /^[06]$/u.test(call.operands[0]?.text ?? "")) ||
        (call.program === "kill" && call.words.some(({ text }, index) => index > 0 && text === "-1")) ||
        (call.program === "dd" && says(call, /^of=\/dev\//u)) ||
        (deletesTree(call) && call.operands.some(({ text }) => WHOLE_MACHINE.test(text)))),
    does: "stops another machine or destroys it",
    effects: PERSON,
    remote: true,
  },
  {
    key: "recursive delete on another machine",
    programs: ["rm"],
    when: (call) => call.command.source === "remote" && deletesTree(call),
    does: "deletes a directory tree on another machine",
    effects: PERSON,
    remote: true,
  },
  {
    key: "run commands outside the sandbox through ssh",
    programs: ["ssh", "mosh", "sshpass"],
    when: (call) =>
      isLoopback(call.command.remote?.replace(/^.*@/u, "") ?? networkHost(call)) &&
      // Another port is usually a virtual machine or a container.
      optionValues(call, "-p", "-o").every(
        ({ text }) => !/^(?:port\s*=?\s*)?\d+$/iu.test(text) || /^(?:port\s*=?\s*)?22$/iu.test(text),
      ),
    does: "runs commands on this machine, where no sandbox confines them",
    effects: PERSON,
    remote: true,
  },
  {
    key: "run a script on another machine",
    programs: ["ssh", "mosh"],
    when: (call) =>
      !call.isWrapper &&
      call.command.source !== "remote" &&
      call.operands.length - valuesOfOptions(call) === 1 &&
      (call.command.input?.kind === "command" ||
        (call.command.input?.kind === "file" && call.command.input.path.text !== "/dev/null")),
    does: "runs what it reads on another machine",
    effects: PERSON,
  },
  {
    key: "apply a description from another machine",
    programs: ["kubectl", "oc", "k", "helm", "docker", "podman"],
    when: (call) =>
      /^(?:apply|create|replace|install|upgrade|compose|stack|import|plugin)$/u.test(first(call)) &&
      (optionValues(call, "-f", "--filename", "--file", "-k", "--kustomize", "--values", "-c").some(({ text }) =>
        ADDRESS.test(text),
      ) ||
        (first(call) === "import" && says(call, ADDRESS)) ||
        (first(call) === "plugin" && subcommands(call)[1] === "install")),
    does: "starts in a cluster or container what another machine describes",
    effects: PERSON,
  },
  {
    key: "container with access to a cluster machine",
    programs: ["kubectl", "oc", "k"],
    when: (call) =>
      (first(call) === "run" && says(call, /^--(?:privileged|overrides)(?:=|$)/u)) ||
      (first(call) === "debug" && says(call, /^nodes?\//u)) ||
      (first(call) === "proxy" && says(call, /^--(?:address|accept-hosts)(?:=|$)/u)),
    does: "gives a container access to a machine of the cluster or opens the cluster to others",
    effects: PERSON,
  },
  {
    key: "run tasks on other machines",
    programs: [
      "ansible",
      "ansible-playbook",
      "ansible-pull",
      "salt",
      "salt-ssh",
      "fab",
      "pssh",
      "parallel-ssh",
      "pdsh",
      "dsh",
      "clush",
      "knife",
      "bolt",
    ],
    when: (call) =>
      call.words.length > 0 &&
      !hasFlag(call, /^--(?:check|syntax-check|list-(?:hosts|tasks|tags)|version|help|list)$|^-[CVhl]$/u) &&
      !(
        call.program === "ansible" &&
        optionValues(call, "-m", "--module-name").some(({ text }) => /^(?:ping|setup|debug)$/u.test(text))
      ),
    does: "runs tasks on other machines",
    effects: PERSON,
  },
  {
    key: "change infrastructure without a further question",
    programs: ["terraform", "tofu", "terragrunt", "pulumi"],
    when: (call) =>
      call.program === "pulumi"
        ? first(call) === "up" && hasFlag(call, /^-[a-z]*y|^--(?:yes|skip-preview)$/u)
        : says(call, /^-?-auto-approve$/u) || (first(call) === "apply" && subcommands(call).length > 1),
    does: "changes infrastructure",
    effects: PERSON,
  },
]

/** Operands of ssh that are values of its options, for example the port of `-p 22`. */
function valuesOfOptions(call: Invocation): number {
  return call.flags.filter((flag) => /^-[46AaCfGgKkMNnqsTtVvXxYy]*[bBcDEeFIiJLlmOopQRSWw]$/u.test(flag)).length
}
