package enginetest

import (
	"time"

	"github.com/islet-run/islet/pods"
)

// Behaviour is what one run of a container does. The zero value starts at once,
// runs for ever, and ends with code 0 when it gets its stop signal.
type Behaviour struct {
	CreateFails string        // the creation fails with these words
	StartTakes  time.Duration // how long the start call takes
	StartHangs  bool          // the start call never ends
	StartFails  string        // the start fails with these words
	StartCode   int           // exit code of a failed start; 0 means 128

	Exits    bool          // it ends by itself
	Runs     time.Duration // after this long
	ExitCode int           // with this code
	OOM      bool          // because it ran out of memory
	Message  string        // what it leaves as termination message
	Log      string        // the end of its log

	StopTakes   time.Duration // how long it takes to end after its stop signal
	StopCode    int           // with which code
	IgnoresTerm bool          // it takes no notice of its stop signal
	Unkillable  bool          // it does not even end when killed
}

// SandboxBehaviour is what a sandbox does.
type SandboxBehaviour struct {
	StartTakes time.Duration
	StartHangs bool
	StartFails string
}

// ImageBehaviour is what becomes of looking an image up and pulling it.
type ImageBehaviour struct {
	Absent    bool          // it has to be pulled
	PullTakes time.Duration // how long a pull takes
	// PullFails is how many pulls fail before one works; negative: all.
	PullFails int
	Error     string // the registry's words; empty: some
	Reason    string // of a pull that fails; empty: ErrImagePull
}

// scripts are the shell scripts of the contract suite and what they do.
var scripts = map[string]Behaviour{
	scriptRun:     {StopCode: 5},
	scriptIgnore:  {IgnoresTerm: true},
	scriptTrue:    {Exits: true},
	scriptFail:    {Exits: true, ExitCode: 3},
	scriptMessage: {Exits: true, Message: "all is well"},
	scriptLog:     {Exits: true, ExitCode: 1, Log: "something broke\n"},
}

// byCommand is the behaviour of a container that nothing else was said about:
// it knows the contract's scripts, and fails to start a program that is named
// as one that does not exist.
func byCommand(req pods.ContainerRequest) Behaviour {
	if len(req.Command) == 0 {
		return Behaviour{}
	}
	if req.Command[0] == missingProgram {
		return Behaviour{StartFails: missingProgram + ": no such file or directory", StartCode: 127}
	}
	return scripts[req.Command[len(req.Command)-1]]
}
