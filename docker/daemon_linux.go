package docker

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"
)

// daemon is the process behind a unix socket, as far as it can be seen.
type daemon struct {
	stamp    string // differs between two processes; empty when it cannot be told
	oomScore int
}

// daemonProcess looks at the process that listens on the engine's socket. It
// tells a daemon that was restarted, perhaps with other rights, from one whose
// connection merely broke.
func daemonProcess(ctx context.Context, api *client.Client) daemon {
	path, ok := strings.CutPrefix(api.DaemonHost(), "unix://")
	if !ok {
		return daemon{}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return daemon{}
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return daemon{}
	}
	var peer *unix.Ucred
	if err := raw.Control(func(fd uintptr) {
		peer, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || peer == nil || peer.Pid <= 1 { // 1: the socket is systemd's
		return daemon{}
	}
	dir := fmt.Sprintf("/proc/%d/", peer.Pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return daemon{}
	}
	out := daemon{stamp: fmt.Sprintf("%d@%s", peer.Pid, startTicks(stat))}
	if text, err := os.ReadFile(dir + "oom_score_adj"); err == nil {
		out.oomScore, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	return out
}

// startTicks is when a process was started: the 22nd field of its stat line,
// counted after the command, which may hold anything.
func startTicks(stat []byte) string {
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	if fields := bytes.Fields(rest); len(fields) > 19 {
		return string(fields[19])
	}
	return ""
}
