package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// noProxy says why a program cannot have the listener of [Spec].Serve.
const noProxy = "a network by hosts takes a network namespace with a loopback interface, which the kernel refuses"

// startLoopback brings the loopback interface of a new network namespace up. The kernel gives it its addresses.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	flags, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	flags.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, flags)
}

// sendListener opens the port of the proxy and sends the socket, which stays one of this network namespace, to the parent.
func sendListener(to int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the socket of the proxy: %w", err)
	}
	defer unix.Close(fd)
	defer unix.Close(to)
	err = unix.Bind(fd, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err == nil {
		err = unix.Sendmsg(to, []byte{0}, unix.UnixRights(fd), nil, 0)
	}
	if err != nil {
		return fmt.Errorf("open the port of the proxy: %w", err)
	}
	return nil
}
