import { SYSTEM } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { protectedDirectory } from "../protected-targets.ts"

const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const isRecursive = (call: Invocation): boolean => hasFlag(call, /^--recursive$|^-[a-z]*R/u)
/** The files of chmod and chown, without the mode or the owner. */
const changesDirectory = (call: Invocation, directories: readonly string[]): boolean =>
  call.operands.slice(1).some((word) => directories.includes(protectedDirectory(call, word) ?? ""))
const WRITABLE_BY_OTHERS = /^(?:[0-7]?(?:777|666)|[ugoa,=rwxXst+-]*[oa][ugoa]*[+=][a-zX]*w)/u
const isOpened = (call: Invocation): boolean => call.operands.some(({ text }) => WRITABLE_BY_OTHERS.test(text))
const toRoot = (call: Invocation): boolean => call.operands.some(({ text }) => /^root\b/u.test(text))
const targets: CommandRule["effects"] = (call) =>
  call.operands.slice(1).map(({ text, known }) => ({
    kind: "write",
    path: known
      ? text.startsWith("/") || call.command.directory === undefined
        ? text
        : `${call.command.directory}/${text}`
      : undefined,
  }))

/** Permissions, the kernel, the network and the firewall of the machine. */
export const MACHINE_RULES: readonly CommandRule[] = [
  {
    key: "recursive permission change of a system directory",
    level: "hardline",
    programs: ["chmod", "chown", "chgrp", "setfacl", "chattr"],
    when: (call) => isRecursive(call) && changesDirectory(call, ["root", "system"]),
    does: "changes permissions of a whole directory of the system",
    effects: SYSTEM,
  },
  {
    key: "world/other-writable permissions",
    programs: ["chmod"],
    when: isOpened,
    does: "lets every user of the machine write",
    effects: targets,
  },
  {
    key: "recursive world/other-writable (long flag)",
    programs: ["chmod"],
    when: (call) => isOpened(call) && hasFlag(call, /^--recursive$/u),
    does: "lets every user of the machine write to a directory tree",
    effects: targets,
  },
  {
    key: "recursive chown to root",
    programs: ["chown"],
    when: (call) => toRoot(call) && hasFlag(call, /^-[a-z]*R/u),
    does: "gives a directory tree to root",
    effects: SYSTEM,
  },
  {
    key: "recursive chown to root (long flag)",
    programs: ["chown"],
    when: (call) => toRoot(call) && hasFlag(call, /^--recursive$/u),
    does: "gives a directory tree to root",
    effects: SYSTEM,
  },
  {
    key: "recursive permission change of the home directory",
    programs: ["chmod", "chown", "chgrp", "setfacl", "chattr"],
    when: (call) => isRecursive(call) && changesDirectory(call, ["home"]),
    does: "changes permissions of the whole home directory",
    effects: targets,
  },
  {
    key: "remove all permissions recursively",
    programs: ["chmod"],
    when: (call) =>
      isRecursive(call) && call.operands.some(({ text }) => /^(?:0{1,4}|[ugoa]*-rwx|a=|ugo=)$/u.test(text)),
    does: "takes away every permission in a directory tree",
    effects: targets,
  },
  {
    key: "change kernel settings",
    programs: [
      "sysctl",
      "modprobe",
      "insmod",
      "rmmod",
      "setenforce",
      "dmesg",
      "kexec",
      "update-grub",
      "grub-install",
      "efibootmgr",
      "bootctl",
    ],
    when: (call) =>
      call.program === "sysctl"
        ? says(call, /^-w$|^--write$|^-p|^--load|^--system$|=/u)
        : call.program === "dmesg"
          ? says(call, /^-[a-zA-Z]*[CcDEn]|^--(?:clear|read-clear|console)/u)
          : call.words.length > 0 || call.program === "update-grub",
    does: "changes the running kernel or how the machine starts",
    effects: SYSTEM,
  },
  {
    key: "change the firewall",
    programs: ["iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "ebtables", "iptables-restore"],
    when: (call) =>
      call.program === "nft" || call.program === "ufw"
        ? !/^(?:list|status|show|monitor|version)?$/u.test(subcommands(call)[0] ?? "")
        : call.program === "firewall-cmd"
          ? !says(call, /^--(?:list|get|state|query)/u)
          : !says(call, /^(?:-[a-z]*[LS][a-z]*|--list\S*|-s[a-z]*)$/iu),
    does: "changes the firewall",
    effects: SYSTEM,
  },
  {
    key: "change the network of the machine",
    programs: [
      "ip",
      "ifconfig",
      "nmcli",
      "route",
      "networksetup",
      "ifdown",
      "ifup",
      "rfkill",
      "resolvectl",
      "hostnamectl",
      "iwconfig",
      "brctl",
      "tc",
      "arp",
    ],
    when: (call) =>
      NETWORK_CHANGES.test(call.words.map(({ text }) => text).join(" ")) ||
      call.program === "ifdown" ||
      call.program === "ifup",
    does: "changes the network of the machine",
    effects: SYSTEM,
  },
  {
    key: "change settings of the machine",
    programs: [
      "renice",
      "nvram",
      "flashrom",
      "fwupdmgr",
      "localectl",
      "hostname",
      "resolvectl",
      "update-ca-certificates",
      "trust",
    ],
    when: (call) =>
      call.program === "hostname"
        ? call.operands.length > 0
        : call.program === "fwupdmgr" || call.program === "resolvectl" || call.program === "localectl"
          ? says(call, /^(?:install|update|downgrade|dns|domain|set-\S+)$/u)
          : call.program !== "trust" || says(call, /^anchor$/u),
    does: "changes settings of the machine",
    effects: SYSTEM,
  },
  {
    key: "set the clock or time zone",
    programs: ["date", "timedatectl", "hwclock"],
    when: (call) => says(call, /^(?:-s|--set(?:=.*)?|set-\w+|--systohc|-w)$/u),
    does: "changes the clock of the machine",
    effects: SYSTEM,
  },
  {
    key: "delete logs",
    programs: ["journalctl", "auditctl", "logrotate"],
    when: (call) =>
      says(call, /^--vacuum|^--rotate$|^-D$|^-f$/u) &&
      !(call.program === "journalctl" && !says(call, /^--(?:vacuum|rotate)/u)),
    does: "deletes logs of the machine",
    effects: SYSTEM,
  },
  {
    key: "remove system packages",
    programs: ["apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "zypper", "pacman", "apk", "snap", "flatpak", "rpm"],
    when: (call) =>
      says(call, /^(?:remove|purge|autoremove|uninstall|del|erase|-R[a-z]*|-P|--purge|--remove|-e|--erase)$/u) ||
      says(call, /^-o$|^-o.*(?:Invoke|Pre-Install|Post-Install)|::(?:Pre|Post)-(?:Invoke|Install)/iu),
    does: "removes packages of the system or runs commands as part of it",
    effects: SYSTEM,
  },
]

const NETWORK_CHANGES =
  /(?<![\w-])(?:down|flush|del|delete|add|off|disconnect|modify|replace|block|set-hostname|hostname\s+\S+|revert|mtu\s+\d+|-setdnsservers|-setwebproxy\S*|-d)(?![\w-])/iu
